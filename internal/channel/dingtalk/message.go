package dingtalk

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/channel"
)

// callback is a message that somebody has written to the robot.
type callback struct {
	ID           string `json:"msgId"`
	Kind         string `json:"msgtype"`
	Conversation string `json:"conversationId"`
	Type         string `json:"conversationType"` // 1 between two, 2 in a group
	Sender       string `json:"senderId"`
	Staff        string `json:"senderStaffId"` // within the organisation
	Nick         string `json:"senderNick"`
	SenderCorp   string `json:"senderCorpId"`
	RobotCorp    string `json:"chatbotCorpId"`
	Robot        string `json:"chatbotUserId"`
	Listed       bool   `json:"isInAtList"`
	At           int64  `json:"createAt"` // milliseconds
	Webhook      string `json:"sessionWebhook"`
	WebhookEnds  int64  `json:"sessionWebhookExpiredTime"`
	Text         struct {
		Content string `json:"content"`
	} `json:"text"`
	Content struct {
		Rich []struct {
			Text string `json:"text"`
		} `json:"richText"`
	} `json:"content"`
}

// place is where an answer goes.
type place struct {
	webhook string // "" if there is none that can be trusted
	ends    time.Time
	group   string
	staff   string
}

// read makes a message of a callback. It is false for one that is not passed on.
func (l *link) read(data []byte) (channel.Message, place, bool) {
	var c callback
	if json.Unmarshal(data, &c) != nil {
		l.Log.Warn("DingTalk sends a message that cannot be read")
		return channel.Message{}, place{}, false
	}
	var text string
	switch c.Kind {
	case "text":
		text = c.Text.Content
	case "richText": // its pictures are left out
		var parts strings.Builder
		for _, p := range c.Content.Rich {
			parts.WriteString(p.Text)
		}
		text = parts.String()
	}
	text = strings.TrimSpace(text)
	if text == "" || c.ID == "" || c.Conversation == "" || c.Sender == "" || c.Sender == c.Robot {
		return channel.Message{}, place{}, false
	}
	m := channel.Message{
		ID: c.ID, Chat: c.Conversation, Sender: c.Sender, Name: c.Nick, Text: text,
		At: time.UnixMilli(c.At), Group: c.Type != "1", Mentioned: c.Listed,
	}
	if c.At == 0 {
		m.At = time.Now()
	}
	to := place{ends: time.UnixMilli(c.WebhookEnds).Add(-time.Minute)}
	// Another organisation may have the same ids of its staff.
	if c.Staff != "" && c.SenderCorp == c.RobotCorp {
		m.Sender, to.staff = c.Staff, c.Staff
	}
	if m.Group {
		to.group = c.Conversation
	}
	if u, err := url.Parse(c.Webhook); err == nil && u.Host != "" && l.trusts(u) {
		to.webhook = c.Webhook
	}
	return m, to, true
}

const (
	maxBytes = 14_000 // of a message in JSON twice; DingTalk documents 15,000
	attempts = 4
	maxPause = time.Minute
)

// size is how long a text is where it is longest: as JSON in JSON.
func size(text string) int {
	inner, _ := json.Marshal(text) // text always can be
	outer, _ := json.Marshal(string(inner))
	return len(outer)
}

// send answers, in parts. Messages of the kinds that are used are plain text, and
// mention only whom the request names beside them, which is nobody.
func (l *link) send(ctx context.Context, to place, text string) error {
	for _, part := range channel.Split(text, maxBytes, size) {
		if err := l.deliver(ctx, &to, part); err != nil {
			return err
		}
	}
	return nil
}

// verdict says what became of a message.
type verdict int

const (
	delivered verdict = iota
	slower            // it comes too soon
	expired           // this way is closed; another one may be open
)

// deliver sends one message. It is sent again only when DingTalk says that it was
// not taken: nothing would keep it from being seen twice.
func (l *link) deliver(ctx context.Context, to *place, text string) error {
	for try := 1; ; try++ {
		post := l.robot
		if to.webhook != "" && time.Now().Before(to.ends) {
			post = l.hook
		}
		v, wait, err := post(ctx, *to, text)
		switch {
		case err != nil:
			return err
		case v == delivered:
			return nil
		case v == expired && to.webhook != "":
			to.webhook = ""
		case try == attempts || wait > maxPause:
			return ambry.UpstreamFailed.Errorf("DingTalk asks to send less")
		default:
			if err := channel.Pause(ctx, max(wait, time.Duration(try)*l.pause)); err != nil {
				return err
			}
		}
	}
}

// hook answers at the address that came with the question.
func (l *link) hook(ctx context.Context, to place, text string) (verdict, time.Duration, error) {
	answer, err := l.Ask(ctx, http.MethodPost, to.webhook, nil,
		map[string]any{"msgtype": "text", "text": map[string]string{"content": text}})
	if err != nil {
		return 0, 0, err
	}
	var out struct {
		Code    *int64 `json:"errcode"`
		Message string `json:"errmsg"`
	}
	wait := channel.RetryAfter(answer.Header, time.Now())
	if answer.Status == http.StatusTooManyRequests {
		return slower, wait, nil
	}
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Body, &out) != nil || out.Code == nil {
		return 0, 0, l.refusal(answer)
	}
	switch *out.Code {
	case 0:
		return delivered, 0, nil
	case 130101, 410100, 90018, 90030:
		return slower, wait, nil
	case 300001, 300005, 310000:
		return expired, 0, nil
	}
	return 0, 0, ambry.UpstreamFailed.Errorf("DingTalk says: %d %s", *out.Code, channel.Says(out.Message, l.secret))
}

// robot answers through the robot.
func (l *link) robot(ctx context.Context, to place, text string) (verdict, time.Duration, error) {
	param, err := json.Marshal(map[string]string{"content": text})
	if err != nil {
		return 0, 0, err
	}
	in := map[string]any{"robotCode": l.code, "msgKey": "sampleText", "msgParam": string(param)}
	path := "/v1.0/robot/groupMessages/send"
	switch {
	case to.group != "":
		in["openConversationId"] = to.group
	case to.staff != "":
		path, in["userIds"] = "/v1.0/robot/oToMessages/batchSend", []string{to.staff}
	default:
		return 0, 0, ambry.UpstreamFailed.Errorf("this conversation can be answered no more: whoever wrote is not of the organisation")
	}
	token, err := l.current(ctx)
	if err != nil {
		return 0, 0, err
	}
	for again := false; ; again = true {
		answer, err := l.Ask(ctx, http.MethodPost, l.base.JoinPath(path).String(), http.Header{"X-Acs-Dingtalk-Access-Token": {token}}, in)
		if err != nil {
			return 0, 0, err
		}
		var f failure
		_ = json.Unmarshal(answer.Body, &f) // it says nothing then
		switch {
		case answer.Status == http.StatusOK:
			return delivered, 0, nil
		case answer.Status == http.StatusTooManyRequests, strings.Contains(f.Code, "QpsLimit"), strings.Contains(f.Code, "hrottl"):
			return slower, channel.RetryAfter(answer.Header, time.Now()), nil
		case !again && (answer.Status == http.StatusUnauthorized || f.Code == "InvalidAuthentication"):
			if token, err = l.fresh(ctx); err != nil {
				return 0, 0, err
			}
		default:
			return 0, 0, l.refusal(answer)
		}
	}
}
