package sink

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// S0-6: two instances write a property into the rest column. After somebody adds a column for the property, both instances
// use the column without a restart, and the rest column no longer holds the value.
func TestSink_S0_6_everyInstanceUsesAColumnThatIsAdded(t *testing.T) {
	t.Parallel()
	one := open(t, postgis.Need(t), ", rest_column: rest")
	instances := make([]*Sink, 2)
	for i := range instances {
		var err error
		instances[i], err = Open(one.cfg.Sink.PostGIS, Options{Mapping: one.cfg.Transform, Logger: one.log(), Classify: classify.Of, refreshAge: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(instances[i].Close)
	}
	offset := int64(0)
	write := func(ctx context.Context, instance int) {
		offset++
		must.Do(t, instances[instance].Write(ctx, []*Row{one.row(fmt.Sprint("k", instance), 0, offset, fmt.Sprintf(`{"colour":"c%d"}`, offset), point)}))
	}
	for i := range instances {
		write(t.Context(), i)
	}
	one.exec("alter table parcels add column colour text")
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(30*time.Second))
	defer cancel()
	for i := range instances {
		eventually.Until(ctx, t, fmt.Sprintf("instance %d to use the column", i), func() (bool, string) {
			write(ctx, i)
			got := one.ask(fmt.Sprintf("select concat_ws(' ', colour, rest) from parcels where id = 'k%d'", i))
			return got == fmt.Sprintf("c%d {}", offset), got
		})
	}
}
