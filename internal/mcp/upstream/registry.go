package upstream

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"
)

// Reserved are the names of what a server has itself. An upstream's of the same
// name is not offered.
type Reserved struct{ Tools, Prompts []string }

// registry is what of the upstreams is offered now, by the name that clients see
// or the address. It is guarded by the mutex of the pool.
type registry struct {
	reserved  Reserved
	tools     map[string]entry
	prompts   map[string]entry
	resources map[string]entry
	templates map[string]entry
}

// entry is something that is offered.
type entry struct {
	member *member
	name   string // as the upstream calls it
	text   string // all of it, to see whether it changed
}

// separator stands between the id of an upstream and the name of what it has.
const separator = "__"

// Attach says to which server all is offered, and which names it has itself.
func (p *Pool) Attach(server *mcp.Server, reserved Reserved) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
	p.offered = registry{
		reserved: reserved, tools: map[string]entry{}, prompts: map[string]entry{},
		resources: map[string]entry{}, templates: map[string]entry{},
	}
}

// publish offers what the members have now, and nothing else. Clients are told
// by the server, if there is a difference.
func (p *Pool) publish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return
	}
	tools, prompts := map[string]entry{}, map[string]entry{}
	resources, templates := map[string]entry{}, map[string]entry{}
	for _, m := range p.members {
		f := m.current()
		p.publishNamed(m, f, tools, prompts)
		for _, r := range f.resources {
			if e := (entry{m, r.URI, textOf(r)}); claim(resources, p.offered.resources, r.URI, e, p.log(m), func() { p.server.AddResource(r, m.read) }) {
				resources[r.URI] = e
			}
		}
		for _, t := range f.templates {
			if e := (entry{m, t.URITemplate, textOf(t)}); claim(templates, p.offered.templates, t.URITemplate, e, p.log(m), func() { p.server.AddResourceTemplate(t, m.read) }) {
				templates[t.URITemplate] = e
			}
		}
	}
	p.server.RemoveTools(gone(p.offered.tools, tools)...)
	p.server.RemovePrompts(gone(p.offered.prompts, prompts)...)
	p.server.RemoveResources(gone(p.offered.resources, resources)...)
	p.server.RemoveResourceTemplates(gone(p.offered.templates, templates)...)
	p.offered.tools, p.offered.prompts, p.offered.resources, p.offered.templates = tools, prompts, resources, templates
}

// publishNamed offers what has a name: tools and prompts.
func (p *Pool) publishNamed(m *member, f features, tools, prompts map[string]entry) {
	prefix := m.spec.ID + separator
	if m.spec.PassThrough {
		prefix = ""
	}
	for _, t := range f.tools {
		named := *t
		named.Name = prefix + t.Name
		if slices.Contains(p.offered.reserved.Tools, named.Name) {
			continue
		}
		if e := (entry{m, t.Name, textOf(t)}); claim(tools, p.offered.tools, named.Name, e, p.log(m), func() { p.server.AddTool(&named, m.tool(t)) }) {
			tools[named.Name] = e
		}
	}
	for _, one := range f.prompts {
		named := *one
		named.Name = prefix + one.Name
		if slices.Contains(p.offered.reserved.Prompts, named.Name) {
			continue
		}
		if e := (entry{m, one.Name, textOf(one)}); claim(prompts, p.offered.prompts, named.Name, e, p.log(m), func() { p.server.AddPrompt(&named, m.prompt(one)) }) {
			prompts[named.Name] = e
		}
	}
}

func (p *Pool) log(m *member) func(what string) {
	return func(what string) {
		p.cfg.Log.Warn("what an upstream has cannot be offered", "upstream", m.spec.ID, "err", what)
	}
}

// claim adds what is to be offered under a name unless it is so already, and
// reports whether it is offered. Of two with one name the first is.
func claim(now, before map[string]entry, name string, e entry, log func(string), add func()) (offered bool) {
	if _, taken := now[name]; taken {
		return false
	}
	if before[name] == e {
		return true
	}
	// The SDK panics on schemas and addresses that it does not understand, which
	// are an upstream's to choose.
	defer func() {
		if r := recover(); r != nil {
			log(short(fmt.Sprint(r), 200))
			offered = false
		}
	}()
	add()
	return true
}

func textOf(v any) string {
	data, _ := json.Marshal(v) // it came as JSON
	return string(data)
}

// gone returns the names that were there before and are not now.
func gone(before, now map[string]entry) []string {
	var names []string
	for name := range before {
		if _, ok := now[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// toolsOf returns the names of a member's tools, in order.
func (r registry) toolsOf(m *member) []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(r.tools)) {
		if r.tools[name].member == m {
			names = append(names, name)
		}
	}
	return names
}

// promptOf returns who has a prompt, and its name there.
func (p *Pool) promptOf(name string) (*member, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.offered.prompts[name]
	return e.member, e.name
}

// resourceOf returns who has what an address, or the template of addresses,
// names.
func (p *Pool) resourceOf(uri string) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.offered.resources[uri]; ok {
		return e.member
	}
	if e, ok := p.offered.templates[uri]; ok {
		return e.member
	}
	for _, name := range slices.Sorted(maps.Keys(p.offered.templates)) {
		if t, err := uritemplate.New(name); err == nil && t.Match(uri) != nil {
			return p.offered.templates[name].member
		}
	}
	return nil
}
