package server

import (
	"context"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/web"
)

// Account is the account of the person, which is optional.
type Account interface {
	SendCode(ctx context.Context, r ambry.CodeRequest) (ambry.CodeSent, error)
	VerifyCode(ctx context.Context, r ambry.CodeAnswer) (ambry.AccountSession, error)
	Session(ctx context.Context) (ambry.AccountSession, error)
	Logout(ctx context.Context) error

	// Known is the session as far as it is known without asking another machine.
	Known(ctx context.Context) (ambry.AccountSession, error)
}

func (s *Server) sendCode(ctx context.Context, in *patch[ambry.CodeRequest]) (*web.JSON[ambry.CodeSent], error) {
	return replied(s.Account.SendCode(ctx, in.Body))
}

func (s *Server) verifyCode(ctx context.Context, in *patch[ambry.CodeAnswer]) (*web.JSON[ambry.AccountSession], error) {
	return replied(s.Account.VerifyCode(ctx, in.Body))
}

func (s *Server) session(ctx context.Context, _ *web.None) (*web.JSON[ambry.AccountSession], error) {
	return replied(s.Account.Session(ctx))
}

func (s *Server) logout(ctx context.Context, _ *web.None) (*web.JSON[done], error) {
	return replied(done{OK: true}, s.Account.Logout(ctx))
}
