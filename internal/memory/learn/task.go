package learn

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/memory/store"
	"ambry.dev/ambry/internal/memory/words"
)

var (
	todo = re(lead + `(?:todo|to do|to-do|follow[- ]?up|action item|still open|open item|noch offen|offen|待办|待处理|遗留|残件|やること)(?: for [\w ]{3,20})?\s*[:：-]\s*(.{6,})|` +
		lead + `remind me (?:later |tomorrow |next time |again )?(?:to|that|about) (.{6,})|` +
		lead + `(?:we|i|you) (?:still|also still) (?:need|have|want|ought) to (.{6,})|` +
		lead + `(?:later|tomorrow|next week|next session|next time|after (?:the|this) (?:release|merge|launch|migration|demo))[,]? (?:we|i|you)(?:'ll| will| should| need to| have to| must| can)? (.{6,})|` +
		lead + `(?:we|i|let's|you)(?:'ll| will| should| can| must)? (?:do|handle|fix|add|write|tackle|clean up|revisit|come back to|remove|migrate|address) (.{4,}?) (?:later|tomorrow|next week|next time|next session|in a (?:follow-?up|separate|later) (?:pr|commit|change|session)|after (?:the|this) (?:release|merge|launch|migration|demo))$|` +
		lead + `(.{4,} fehl(?:t|en) noch\b.*)|` +
		lead + `(?:wir müssen noch|noch zu tun:|später müssen wir|erinnere mich (?:später )?daran,?) (.{6,})`)
	wideTodo   = re(`(?:^|[，,])(?:请|你|另外[，,]?|对了[，,]?|最后[，,]?)*(?:提醒我(?:下次|明天|之后|以后|回头|到时候)?|(?:我们|你)?(?:之后|后面|回头|下次|明天|下周|晚点|稍后|发布后|合并后|上线后)(?:还)?(?:要|得|需要|再|记得)(?:再)?|还需要|还差|还剩|还没(?:有)?(?:做|写|加|改|处理|修)|别忘了(?:之后|明天|下次|回头|以后))(.{4,})`)
	wideLeft   = re(`还有.{0,6}没(?:有)?(?:做|弄|处理|完成)[：:，,]\s*(.{4,})|^(.{3,}?)(?:还没(?:有)?|尚未|暂时没(?:有)?)(?:做|写|加|改|处理|修|实现|完成|测|弄|补)[^，,。]{0,4}[，,].*(?:之后|以后|回头|改天|下次|明天|下个?(?:迭代|周|版本)|晚点).*|^(?:记得|别忘了|不要忘了?)(?:在)?((?:发版|上线|发布|合并|部署|交付|提测)(?:之?前|之?后).{4,})`)
	wideTodoNo = []string{"再说", "还需要吗", "还需要什么", "还需要我", "还差多少", "还需要多"}
	japaneseT  = re(`^(?:後で|あとで|次回|明日|来週)(?:は)?(.{4,})(?:する必要があります|してください|します|しよう|やります|対応します|直します|追加します)$`)
)

var taskCues = []string{
	"todo", "to do", "to-do", "follow-up", "follow up", "followup", "action item", "still open", "open item", "remind me", "still need", "still have to", "still want", "later", "tomorrow", "next week", "next session", "next time", "after the", "after this", "in a separate",
	"记得", "别忘", "忘了", "尚未", "没做", "没弄", "没处理", "没完成", "noch", "später", "erinnere", "待办", "待处理", "遗留", "提醒我", "之后", "后面", "回头", "下次", "明天", "下周", "晚点", "稍后", "发布后", "合并后", "上线后", "还需要", "还差", "还剩", "还没", "别忘了", "後で", "あとで", "次回", "明日", "来週", "やること",
}

// tasks are what was agreed on and is not done.
func tasks(s *scene) {
	for i := range s.said {
		st := &s.said[i]
		if st.taken || !hasAny(st.low, taskCues) || !st.firm() && !scheduled(st) {
			continue
		}
		what := todoIn(st.low)
		if what == "" || vague(what) || length(what) < 2 || hasAny(st.low, wideTodoNo) || pronounFirst.in(what) || widePointing.in(what) || emptyOrder.in("do "+what) {
			continue
		}
		s.say(ambry.OpenTask, ambry.L3, st, subject{about: []string{"task", plain(what)}, value: "open"}, 0.8)
	}
	s.todoList()
}

// widePointing is a task about something that was named before.
var widePointing = re(`^(?:再|还)?(?:要|得)?(?:把|给|将)?(?:那里|这里|那边|这边|那个|这个|它)`)

// todoIn returns what a sentence leaves to be done, "" if nothing.
func todoIn(low string) string {
	for _, p := range []*pattern{wideLeft, todo, wideTodo, japaneseT} {
		if m := filled(p.groups(low)); len(m) > 0 {
			return m[0]
		}
	}
	return ""
}

// scheduled is for words that are only a doubt elsewhere.
func scheduled(st *statement) bool {
	return !st.asks() && !st.reported() && deferred.in(st.low)
}

var deferred = re(`^(?:todo|remind me)\b|还有.{0,6}没(?:有)?(?:做|弄|处理|完成)|还没(?:有)?(?:做|写|加|改|处理|修|实现|完成|测|弄|补)`)

// lists are tools by which agents keep a list of what is to be done.
var lists = map[string]bool{"todowrite": true, "update_plan": true, "todo_write": true, "write_todos": true, "updatetodolist": true, "update_todo_list": true}

// item is an entry of such a list.
type item struct {
	Content string `json:"content"`
	Step    string `json:"step"`
	Title   string `json:"description"`
	Status  string `json:"status"`
}

func (i item) done() bool {
	switch i.Status {
	case "completed", "cancelled", "canceled", "done":
		return true
	}
	return false
}

// maxOpen is how many entries of a list are told of.
const maxOpen = 8

// todoList is what the agent's own list says at the end of the turn. The last
// list of a session stands.
func (s *scene) todoList() {
	var last *ambry.ToolCall
	for _, m := range s.Messages {
		for i := range m.Calls {
			if lists[strings.ToLower(m.Calls[i].Name)] && m.Calls[i].Done && !m.Calls[i].Failed {
				last = &m.Calls[i]
			}
		}
	}
	if last == nil {
		return
	}
	var in struct {
		Todos []item `json:"todos"`
		Plan  []item `json:"plan"`
		Steps string `json:"explanation"`
	}
	if json.Unmarshal([]byte(last.Input), &in) != nil || len(in.Todos)+len(in.Plan) == 0 {
		return
	}
	about := store.TopicOf(s.Project, "list", s.Agent, s.Session)
	var open []string
	for _, i := range append(in.Todos, in.Plan...) {
		if text := strings.TrimSpace(cmpOr(i.Content, cmpOr(i.Step, i.Title))); !i.done() && text != "" {
			open = append(open, strings.Join(strings.Fields(text), " "))
		}
	}
	if len(open) == 0 {
		s.add(store.Claim{Rule: ambry.OpenTask, Layer: ambry.L3, Project: s.Project, Topic: about, Value: "done", Ends: true, Sure: 0.9})
		return
	}
	title := "Not finished: " + open[0]
	if len(open) > 1 {
		title += fmt.Sprintf(" (and %d more)", len(open)-1)
	}
	body := "Left open at the end of a session:"
	for _, o := range open[:min(len(open), maxOpen)] {
		body += "\n- " + o
	}
	s.add(store.Claim{
		Rule: ambry.OpenTask, Layer: ambry.L3, Project: s.Project, Topic: about, Value: strings.Join(open, "\n"),
		Title: title, Body: body, Sure: 0.8,
	})
}

// openTasks finds the tasks that turns say are done.
type openTasks struct {
	ctx   context.Context
	store *store.Store
	known map[string][]task // by project
}

// task is one that a person named, with its words.
type task struct {
	topic store.Topic
	words map[string]bool
	since time.Time
}

// maxTasks is how many open tasks of a project are looked at.
const maxTasks = 200

var doneCues = []string{
	"done", "finished", "completed", "implemented", "added", "fixed", "removed", "migrated", "wrote", "written", "updated", "renamed", "merged", "shipped", "deployed", "moved", "replaced", "cleaned", "documented", "tested", "ready", "set up", "there",
	"完成", "已经", "已", "做好", "搞定", "写好", "加好", "修好", "改好", "erledigt", "fertig", "hinzugefügt", "完了", "終わり", "追加しました", "修正しました",
}

var (
	isDone   = re(`^(?:(?:ok|okay|great|perfect|good news|also|and|summary)[,.:!]? )*(?:(?:i|we)(?:'ve| have)? (?:now |just |also |already )?(?:added|finished|completed|implemented|fixed|removed|migrated|wrote|written|updated|renamed|merged|shipped|deployed|moved|replaced|cleaned|documented|done)\b|(?:added|finished|completed|implemented|fixed|removed|migrated|updated|renamed|merged|shipped|deployed|moved|replaced|cleaned up|documented)\b|.{3,80} (?:is|are|has been|have been|was|were) (?:now |already |all )?(?:done|finished|completed|implemented|added|fixed|removed|migrated|merged|shipped|deployed|in place|documented|renamed|replaced|written|tested|ready|set up|there)\b|done[,:.]? )`)
	notYet   = re(`\b(?:not (?:yet|done|finished|implemented|added|fixed)|isn't|aren't|hasn't|haven't|don't|didn't|still (?:need|have|to|open|missing|pending)|todo|remain(?:s|ing)|once|after|will be|needs? to be|should be|must be|if|until|next)\b|还没|没有|尚未|未完成|之后|待`)
	wideDone = re(`已经?(?:完成|加|写|改|修|添加|实现|处理|删除|迁移|更新|重命名|部署|合并|上线|接入|支持|补)|(?:完成|做好|搞定|写好|加好|修好|改好)了|(?:追加|修正|完了|対応|実装|更新|削除|移行)しました|ist (?:erledigt|fertig)|(?:habe|haben) .{3,60} (?:hinzugefügt|behoben|erledigt|entfernt|aktualisiert)`)
)

// ended returns claims that end tasks of which a turn says that they are done.
func (o *openTasks) ended(l store.Lesson) ([]store.Claim, error) {
	if l.Project == "" {
		return nil, nil
	}
	var done []string
	for _, m := range l.Messages {
		if m.Role != ambry.User && m.Role != ambry.Assistant || m.Role == ambry.User && !l.Person || len(m.Text) > maxMessage {
			continue
		}
		low := strings.ToLower(m.Text)
		if !hasAny(low, doneCues) {
			continue
		}
		if len(done) == 0 {
			if tasks, err := o.of(l.Project); err != nil || len(tasks) == 0 {
				return nil, err
			}
		}
		for _, st := range sentences(clean(clip(m.Text, lastWords))) {
			if (isDone.in(st.low) || wideDone.in(st.low)) && !notYet.in(st.low) && !st.asks() && !st.hedged() {
				done = append(done, st.low)
			}
		}
	}
	if len(done) == 0 {
		return nil, nil
	}
	tasks, err := o.of(l.Project)
	if err != nil {
		return nil, err
	}
	var out []store.Claim
	for _, t := range tasks {
		if !l.At.After(t.since) {
			continue
		}
		for _, d := range done {
			if t.coveredBy(d) {
				out = append(out, store.Claim{Rule: ambry.OpenTask, Layer: ambry.L3, Project: l.Project, Topic: t.topic, Value: "done", Ends: true, Sure: 0.8})
				break
			}
		}
	}
	return out, nil
}

func (o *openTasks) of(project string) ([]task, error) {
	if known, ok := o.known[project]; ok {
		return known, nil
	}
	open, err := o.store.OpenClaims(o.ctx, ambry.OpenTask, project, maxTasks)
	if err != nil {
		return nil, err
	}
	all := make([]task, 0, len(open))
	for _, c := range open {
		st, ok := newStatement(c.Body)
		if !ok {
			continue
		}
		w := wordsOf(todoLead.without(cmpOr(todoIn(st.low), st.low)))
		if len(w) > 0 {
			all = append(all, task{c.Topic, w, time.UnixMilli(c.Since).UTC()})
		}
	}
	o.known[project] = all
	return all, nil
}

// todoLead says that something is to be done, and not what.
var todoLead = re(`\b(?:todo|to do|follow[- ]?up|action item|remind me|later|tomorrow|next (?:week|time|session)|still|need|have|to|we|i|you|should|must|will|let's|the|a|an|of|for|in|and|or|that|about|do|add|write|fix|remove|update|migrate|rename|document|clean|up|after|release|merge|separate|pr)\b|\b(?:don't|now|it|this)\b|还没有?(?:做|写|处理)?|提醒我|之后|回头|下次|明天|下周|还需要|还差|还没|别忘了|待办|要|需要|再|把|给|的|了`)

// minCovered is the share of a task's words that must be said to be done.
const minCovered = 0.7

func (t task) coveredBy(said string) bool {
	have := wordsOf(said)
	n := 0
	for w := range t.words {
		if have[w] {
			n++
		}
	}
	return n >= min(2, len(t.words)) && float64(n) >= minCovered*float64(len(t.words))
}

// wordsOf returns the terms of a text without those that are only parts.
func wordsOf(text string) map[string]bool {
	out := map[string]bool{}
	words.NewCutter().Each(text, func(t words.Term) {
		if t.Kind != words.Part && t.Kind != words.Single {
			out[string(t.Text)] = true
		}
	})
	return out
}
