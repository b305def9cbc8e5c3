package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/app"
)

func (p *program) modelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Choose and test the language models that Ambry may use",
		Long: `Model shows, chooses and tests the language models that Ambry may use. It needs
none: memories are found and kept without. Keys are kept in the keychain of the
system or an encrypted file, and go only to the address they were given for.

Nothing calls a model in the background unless the setting model.background is
budget; "ambry config explain" lists what a day may cost then.`,
		Example: `  ambry model set --provider ollama --model qwen3:8b
  ambry model test
  ambry model show`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.modelShowCommand(), p.modelSetCommand(), p.modelTestCommand())
	return cmd
}

func (p *program) modelShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show the models that are chosen, and what they have used",
		Long: `Show prints the models that are chosen, what of their keys may be shown, and what
calls of them have used today and in all.`,
		Example: `  ambry model show
  ambry model show --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.showModel(cmd.Context()) },
	}
}

func (p *program) showModel(ctx context.Context) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	config, err := c.ModelConfig(ctx)
	if err != nil {
		return err
	}
	usage, err := c.UsageSummary(ctx)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(struct {
			Config ambry.ModelConfig   `json:"config"`
			Usage  ambry.UsageOverview `json:"usage"`
		}{config, usage})
	}
	p.printModels(config)
	p.printUsage(usage)
	return nil
}

func (p *program) printModels(m ambry.ModelConfig) {
	if m.ModelID == "" {
		p.printf("No model is chosen; \"ambry model set\" chooses one.\n")
	} else {
		p.printModel("model", m.ModelView)
		if !sameModel(m.Memory.Summary, m.ModelView) {
			p.printModel("summary", m.Memory.Summary)
		}
		if !sameModel(m.Memory.Evolution, m.ModelView) {
			p.printModel("evolution", m.Memory.Evolution)
		}
	}
	if e := m.Embedding; e.Mode == "custom" {
		p.printModel("embedding", ambry.ModelView{
			Provider: *e.Provider, BaseURL: *e.BaseURL, ModelID: *e.ModelID, HasAPIKey: e.HasAPIKey, APIKeyMasked: e.APIKeyMasked,
		})
		return
	}
	p.printf("embedding  built in\n")
}

func sameModel(a, b ambry.ModelView) bool {
	return a.Provider == b.Provider && a.BaseURL == b.BaseURL && a.ModelID == b.ModelID
}

func (p *program) printModel(what string, m ambry.ModelView) {
	key := "no key"
	switch {
	case m.HasAPIKey:
		key = "key " + m.APIKeyMasked
	case m.APIKeyMasked != "":
		key = m.APIKeyMasked + ", which is not set"
	}
	p.printf("%s  %s of %s at %s, %s\n", p.style().bold(what), flat(m.ModelID), m.Provider, flat(m.BaseURL), flat(key))
}

func (p *program) printUsage(u ambry.UsageOverview) {
	p.printf("used       %s, %s in all\n", counted(u.Calls, "call", "calls"), counted(u.TotalTokens, "token", "tokens"))
	if !u.Budget.Background {
		p.printf("background never\n")
		return
	}
	p.printf("background today %s of %s calls, %s of %s tokens\n",
		count(u.Budget.CallsToday), count(u.Budget.CallsPerDay), count(u.Budget.TokensToday), count(u.Budget.TokensPerDay))
}

// modelFlags are a model as it was given. What was not given stays.
type modelFlags struct {
	provider, model, url, key string
	embedding                 bool
	local                     bool
}

func (p *program) modelSetCommand() *cobra.Command {
	var f modelFlags
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Choose a model, or change something about it",
		Long: `Set chooses a model. What is not given stays as it is, but a key only as long as
the scheme, host and port of the address do.

A key is not taken as an argument, where other programs and the history of the
shell would see it: with --key - it is read from standard input, or asked for.
Instead of a key there may be a reference: env:NAME names a variable of the
service that ends in _API_KEY, keychain:ID an entry of the service "ambry" in the
keychain. With --key none it is forgotten.`,
		Example: `  ambry model set --provider ollama --model qwen3:8b
  ambry model set --provider anthropic --model claude-sonnet-4-5 --key -
  ambry model set --provider openai --model gpt-5-mini --key env:OPENAI_API_KEY
  ambry model set --embedding --provider ollama --model bge-m3
  ambry model set --embedding --local`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.local && !f.embedding {
				return usagef("--local is for --embedding: there is no built-in model that answers")
			}
			return p.setModel(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.provider, "provider", "", "who offers the model: "+strings.Join(app.ModelProviders(), ", "))
	cmd.Flags().StringVar(&f.model, "model", "", "`name` of the model, as the provider calls it")
	cmd.Flags().StringVar(&f.url, "url", "", "`address` of the API (default: that of the provider)")
	cmd.Flags().StringVar(&f.key, "key", "", "- to read it, `env:NAME`, keychain:ID, or none")
	cmd.Flags().BoolVar(&f.embedding, "embedding", false, "choose the model that embeds memories instead")
	cmd.Flags().BoolVar(&f.local, "local", false, "embed with the built-in model again")
	_ = cmd.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions(app.ModelProviders(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (p *program) setModel(ctx context.Context, f modelFlags) error {
	key, err := p.modelKey(f.key)
	if err != nil {
		return err
	}
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	now, err := c.ModelConfig(ctx)
	if err != nil {
		return err
	}
	in := again(now)
	switch {
	case f.local:
		in.Embedding = nil
	case f.embedding:
		m := ambry.ModelInput{}
		if e := in.Embedding; e != nil {
			m = ambry.ModelInput{Provider: e.Provider, BaseURL: e.BaseURL, ModelID: e.ModelID}
		}
		f.change(&m, key)
		in.Embedding = &ambry.EmbeddingInput{Mode: "custom", Provider: m.Provider, BaseURL: m.BaseURL, ModelID: m.ModelID, APIKey: m.APIKey}
		if in.ModelID == "" {
			return usagef("choose a model first, without --embedding")
		}
	default:
		f.change(&in.ModelInput, key)
	}
	if in.ModelID == "" {
		return usagef("--model is missing: the name of the model, as the provider calls it")
	}
	after, err := c.SetModelConfig(ctx, in)
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(after)
	}
	p.printModels(after)
	if now.HasAPIKey && !after.HasAPIKey && f.key == "" {
		p.note("note: the key was for another address and is forgotten; give one with --key -")
	}
	p.note("\"ambry model test\" asks whether it answers")
	if f.embedding && !f.local {
		p.note("note: memories are embedded with it in the background, so only if model.background is budget")
	}
	return nil
}

// change changes what is given. Another provider has its usual address.
func (f modelFlags) change(m *ambry.ModelInput, key json.RawMessage) {
	if f.provider != "" && f.provider != m.Provider {
		m.Provider, m.BaseURL = f.provider, app.ModelURL(f.provider)
	}
	if f.model != "" {
		m.ModelID = f.model
	}
	if f.url != "" {
		m.BaseURL = f.url
	}
	m.APIKey = key
}

// again is a request that changes nothing of what is chosen.
func again(m ambry.ModelConfig) ambry.ModelConfigInput {
	of := func(v ambry.ModelView) *ambry.ModelInput {
		return &ambry.ModelInput{Provider: v.Provider, BaseURL: v.BaseURL, ModelID: v.ModelID}
	}
	in := ambry.ModelConfigInput{ModelInput: *of(m.ModelView)}
	if e := m.Embedding; e.Mode == "custom" {
		in.Embedding = &ambry.EmbeddingInput{Mode: "custom", Provider: *e.Provider, BaseURL: *e.BaseURL, ModelID: *e.ModelID}
	}
	var own ambry.MemoryModelsInput
	if !sameModel(m.Memory.Summary, m.ModelView) {
		own.Summary = of(m.Memory.Summary)
	}
	if !sameModel(m.Memory.Evolution, m.ModelView) {
		own.Evolution = of(m.Memory.Evolution)
	}
	if own.Summary != nil || own.Evolution != nil {
		in.Memory = &own
	}
	return in
}

// modelKey returns what a request says of the key; nothing keeps the one there is.
func (p *program) modelKey(flag string) (json.RawMessage, error) {
	switch {
	case flag == "":
		return nil, nil
	case flag == "none":
		return json.RawMessage("null"), nil
	case flag == "-":
		text, err := p.readKey()
		if err != nil {
			return nil, fmt.Errorf("read the key: %w", err)
		}
		if flag = strings.TrimSpace(text); flag == "" {
			return nil, usagef("--key -: there is nothing to read")
		}
	case !strings.HasPrefix(flag, "env:") && !strings.HasPrefix(flag, "keychain:"):
		return nil, usagef("--key takes no key as it stands, where others would see it; use --key - and paste or pipe it")
	}
	return json.Marshal(flag)
}

// readKey reads a key without showing it.
func (p *program) readKey() (string, error) {
	if f, ok := p.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.note("The key (it is not shown):")
		key, err := term.ReadPassword(int(f.Fd()))
		return string(key), err
	}
	const most = 4096
	key, err := io.ReadAll(io.LimitReader(p.in, most))
	return string(key), err
}

func (p *program) modelTestCommand() *cobra.Command {
	var embedding bool
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Ask whether the model that is chosen answers",
		Long: `Test asks the model that is chosen something small, for 15 seconds at most, and
says whether it answers. It ends with exit code 1 if it does not.`,
		Example: `  ambry model test
  ambry model test --embedding`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.testModel(cmd.Context(), embedding) },
	}
	cmd.Flags().BoolVar(&embedding, "embedding", false, "test the model that embeds memories instead")
	return cmd
}

func (p *program) testModel(ctx context.Context, embedding bool) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	now, err := c.ModelConfig(ctx)
	if err != nil {
		return err
	}
	in := ambry.ModelTest{ModelInput: again(now).ModelInput}
	switch e := now.Embedding; {
	case embedding && e.Mode == "local":
		p.printf("The built-in model embeds memories; it calls nobody.\n")
		return nil
	case embedding:
		in.Provider, in.BaseURL, in.ModelID = *e.Provider, *e.BaseURL, *e.ModelID
		in.Capability = "embedding"
	case now.ModelID == "":
		return withHint(ambry.NotFound.Errorf("no model is chosen"), `"ambry model set" chooses one`)
	}
	r, err := c.TestModel(ctx, in)
	if err != nil {
		return err
	}
	switch {
	case p.json:
		err = p.printJSON(r)
	case r.OK:
		p.printf("%s answers, after %d ms.\n", flat(in.ModelID), r.LatencyMs)
	default:
		return ambry.UpstreamFailed.Errorf("%s does not answer: %s", flat(in.ModelID), r.Message)
	}
	if err == nil && !r.OK {
		err = errSaid
	}
	return err
}
