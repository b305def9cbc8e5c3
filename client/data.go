package client

import (
	"context"
	"net/http"

	"ambry.dev/ambry"
)

// What is in this file may take minutes: these calls wait for their answer as
// long as the caller does.

func (c *Client) patient() *Client {
	other := *c
	other.http = c.slow
	return &other
}

// ForgetAll deletes what is selected, for good. The same key asks for it once.
func (c *Client) ForgetAll(ctx context.Context, f ambry.Forget, key string) (out ambry.ForgottenAll, err error) {
	header := http.Header{}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	return out, c.patient().call(ctx, http.MethodPost, "/api/v1/memory/forget", header, f, &out)
}

// Data measures the directory of the service.
func (c *Client) Data(ctx context.Context) (out ambry.DataSizes, err error) {
	return out, c.call(ctx, http.MethodGet, "/api/local-data", nil, nil, &out)
}

// RevealData shows the directory of the service in the file manager.
func (c *Client) RevealData(ctx context.Context) (out ambry.DataRevealed, err error) {
	return out, c.call(ctx, http.MethodPost, "/api/local-data/reveal", nil, nil, &out)
}

// ExportData writes everything to a new file or folder.
func (c *Client) ExportData(ctx context.Context, in ambry.ExportData) (out ambry.DataExported, err error) {
	return out, c.patient().call(ctx, http.MethodPost, "/api/local-data/export", nil, in, &out)
}

// ImportData adds an export, or what another program remembers.
func (c *Client) ImportData(ctx context.Context, in ambry.ImportData) (out ambry.DataImported, err error) {
	return out, c.patient().call(ctx, http.MethodPost, "/api/local-data/import", nil, in, &out)
}

// CheckData looks whether words stand anywhere in the files of the service.
func (c *Client) CheckData(ctx context.Context, in ambry.DataCheck) (out ambry.DataChecked, err error) {
	return out, c.patient().call(ctx, http.MethodPost, "/api/local-data/verify", nil, in, &out)
}

// DeleteData deletes everything.
func (c *Client) DeleteData(ctx context.Context, in ambry.DeleteData) (out ambry.DataDeleted, err error) {
	return out, c.patient().call(ctx, http.MethodDelete, "/api/local-data", nil, in, &out)
}

// Backup has the memory copied into its backups.
func (c *Client) Backup(ctx context.Context) (out ambry.BackupMade, err error) {
	return out, c.patient().call(ctx, http.MethodPost, "/api/local-data/backup", nil, nil, &out)
}

// Rebuild has what is derived from the memories made anew.
func (c *Client) Rebuild(ctx context.Context) error {
	return c.patient().call(ctx, http.MethodPost, "/api/local-data/rebuild", nil, nil, nil)
}
