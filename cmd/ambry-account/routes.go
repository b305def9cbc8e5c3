package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/account"
	"ambry.dev/ambry/internal/web"
)

// maxBody is how large a request may be; they are tiny.
const maxBody = 4 << 10

// handler answers the few routes. They are for programs on other machines, so
// the gate of the local API does not fit: its tokens and hosts are of one machine.
type handler struct {
	issuer *account.Issuer
	log    *slog.Logger
}

// route is what a method of a path does. It returns the answer.
type route func(r *http.Request) (status int, body any, err error)

func newHandler(issuer *account.Issuer, log *slog.Logger) http.Handler {
	h := &handler{issuer, log}
	mux := http.NewServeMux()
	mux.Handle("/v1/health", h.methods(map[string]route{http.MethodGet: h.health}))
	mux.Handle(account.CodesPath, h.methods(map[string]route{http.MethodPost: h.send}))
	mux.Handle(account.SessionsPath, h.methods(map[string]route{http.MethodPost: h.verify}))
	mux.Handle(account.SessionPath, h.methods(map[string]route{http.MethodGet: h.who, http.MethodDelete: h.revoke}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		web.WriteError(w, r, ambry.NotFound.Errorf("no such route"))
	})
	return mux
}

func (h *handler) methods(routes map[string]route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		do, ok := routes[r.Method]
		if !ok {
			var allow []string
			for method := range routes {
				allow = append(allow, method)
			}
			w.Header().Set("Allow", strings.Join(allow, ", "))
			web.WriteError(w, r, ambry.MethodNotAllowed.Errorf("this route does not know the method"))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		status, body, err := do(r)
		if err != nil {
			if ambry.KindOf(err).Status() >= http.StatusInternalServerError {
				h.log.Error("a request failed", "route", r.Pattern, "err", err, "cause", errors.Unwrap(err))
			}
			web.WriteError(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) // a caller who is gone needs no answer
	})
}

func (h *handler) health(*http.Request) (int, any, error) {
	return http.StatusOK, map[string]bool{"ok": true}, nil
}

func (h *handler) send(r *http.Request) (int, any, error) {
	var in account.ServiceCode
	if err := read(r, &in); err != nil {
		return 0, nil, err
	}
	wait, err := h.issuer.Send(r.Context(), in.Email, in.Locale)
	return http.StatusAccepted, ambry.CodeSent{OK: true, ResendAfterSec: int(wait / time.Second)}, err
}

func (h *handler) verify(r *http.Request) (int, any, error) {
	var in account.ServiceAnswer
	if err := read(r, &in); err != nil {
		return 0, nil, err
	}
	l, err := h.issuer.Verify(r.Context(), in.Email, in.Code)
	return http.StatusOK, l, err
}

func (h *handler) who(r *http.Request) (int, any, error) {
	who, err := h.issuer.Who(r.Context(), bearer(r))
	return http.StatusOK, account.ServiceSession{Profile: who}, err
}

func (h *handler) revoke(r *http.Request) (int, any, error) {
	if _, err := h.issuer.Who(r.Context(), bearer(r)); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]bool{"ok": true}, h.issuer.Revoke(r.Context(), bearer(r))
}

// bearer returns the token of a request; of one without it is none that was given.
func bearer(r *http.Request) string {
	if values := r.Header.Values("Authorization"); len(values) == 1 {
		if token, ok := strings.CutPrefix(values[0], "Bearer "); ok {
			return token
		}
	}
	return ""
}

// read reads the one JSON object that a body is.
func read(r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return ambry.UnsupportedMediaType.Errorf("the body must be application/json")
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	if err != nil {
		return ambry.InvalidArgument.Errorf("the body is not the JSON object that this route takes")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ambry.InvalidArgument.Errorf("the body is more than one JSON object")
	}
	return nil
}
