package google_test

import (
	"testing"

	"ambry.dev/ambry/internal/model/google"
	"ambry.dev/ambry/internal/model/modeltest"
)

func TestConformance(t *testing.T) { modeltest.Run(t, google.Provider(), "testdata/google.txtar") }
