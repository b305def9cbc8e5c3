package all_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"ambry.dev/ambry"
	"ambry.dev/ambry/internal/model/all"
)

// What the API takes as a provider is what there is.
func TestTheAPITakesEveryProvider(t *testing.T) {
	var chats, embeds []string
	for _, p := range all.Providers() {
		chats = append(chats, p.ID)
		if p.NewEmbedder != nil {
			embeds = append(embeds, p.ID)
		}
	}
	for _, tt := range []struct {
		in   reflect.Type
		want []string
	}{{reflect.TypeFor[ambry.ModelInput](), chats}, {reflect.TypeFor[ambry.EmbeddingInput](), embeds}} {
		field, _ := tt.in.FieldByName("Provider")
		got := strings.Split(field.Tag.Get("enum"), ",")
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) || len(slices.Compact(tt.want)) != len(got) {
			t.Errorf("%s takes %v, there are %v", tt.in.Name(), got, tt.want)
		}
	}
}
