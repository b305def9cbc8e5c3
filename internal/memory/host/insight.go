package host

import (
	"context"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

func (h *host) analysis(ctx context.Context, _ *web.None) (*web.JSON[ambry.Analysis], error) {
	return reply(h.memory.Analysis(ctx))
}

func (h *host) tasks(ctx context.Context, in *struct {
	Paged
	Text string `query:"q" maxLength:"4096" doc:"Only what matches these words"`
},
) (*web.JSON[ambry.Tasks], error) {
	return reply(h.memory.Tasks(ctx, ambry.TasksQuery{Text: in.Text, Page: in.Page}))
}

func (h *host) processing(ctx context.Context, in *struct {
	Body struct {
		ambry.Caller
		MemoryIDs []string `json:"memoryIds" maxItems:"10000" nullable:"false"`
	}
},
) (*web.JSON[ambry.Processing], error) {
	return reply(h.memory.Processing(ctx, in.Body.MemoryIDs))
}

func (h *host) retry(ctx context.Context, in *ByID) (*web.JSON[ambry.Retried], error) {
	return reply(h.memory.RetryProcessing(ctx, in.ID))
}

func (h *host) retryAll(ctx context.Context, in *struct {
	Body struct {
		ambry.Caller
		MemoryIDs []string `json:"memoryIds" maxItems:"200" nullable:"false"`
	}
},
) (*web.JSON[ambry.RetriedAll], error) {
	out := ambry.RetriedAll{Items: []ambry.Retried{}, ServerTime: time.Now().UTC()}
	for _, id := range in.Body.MemoryIDs {
		r, err := h.memory.RetryProcessing(ctx, id)
		if ambry.KindOf(err) == ambry.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, r)
	}
	return reply(out, nil)
}

func (h *host) forgetTask(ctx context.Context, in *struct {
	ByID
	Keyed
},
) (*web.JSON[ambry.ForgottenTask], error) {
	return reply(h.memory.ForgetTask(ctx, in.ID, in.Key))
}

func (h *host) related(ctx context.Context, in *struct {
	ByID
	Limit int `query:"limit" minimum:"1" maximum:"50" default:"10" doc:"Of those that share words"`
},
) (*web.JSON[ambry.Related], error) {
	return reply(h.memory.Related(ctx, in.ID, in.Limit))
}
