package client

import (
	"context"
	"net/http"

	"ambry.dev/ambry"
)

// SendCode has a code sent to an address.
func (c *Client) SendCode(ctx context.Context, r ambry.CodeRequest) (s ambry.CodeSent, err error) {
	return s, c.call(ctx, http.MethodPost, "/api/account/send-code", nil, r, &s)
}

// VerifyCode logs in with a code.
func (c *Client) VerifyCode(ctx context.Context, r ambry.CodeAnswer) (s ambry.AccountSession, err error) {
	return s, c.call(ctx, http.MethodPost, "/api/account/verify-code", nil, r, &s)
}

// AccountSession says who is logged in.
func (c *Client) AccountSession(ctx context.Context) (s ambry.AccountSession, err error) {
	return s, c.call(ctx, http.MethodGet, "/api/account/session", nil, nil, &s)
}

// Logout ends the session, if there is one.
func (c *Client) Logout(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/api/account/logout", nil, nil, nil)
}
