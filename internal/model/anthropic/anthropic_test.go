package anthropic_test

import (
	"testing"

	"ambry.dev/ambry/internal/model/anthropic"
	"ambry.dev/ambry/internal/model/modeltest"
)

func TestConformance(t *testing.T) {
	modeltest.Run(t, anthropic.Provider(), "testdata/anthropic.txtar")
}
