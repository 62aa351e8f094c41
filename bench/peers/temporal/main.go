// One round of Temporal: the server that its module temporaltest starts in this process, with its SQLite
// store in memory, and a worker and clients of its SDK beside it. Nothing of it is durable.
//
//	peer_temporal <p5|s5> <in flight> <seconds> <folder>
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/temporaltest"
)

const (
	activities = 5
	queue      = "orders"
	pollers    = 8
	runUp      = 1500 * time.Millisecond
)

var steps atomic.Int64

func chargeCard(_ context.Context, order string) (string, error) {
	steps.Add(1)
	return order, nil
}

func withOptions(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
}

func inParallel(ctx workflow.Context, order string) (string, error) {
	ctx = withOptions(ctx)
	var parts []workflow.Future
	for range activities {
		parts = append(parts, workflow.ExecuteActivity(ctx, chargeCard, order))
	}
	var receipt string
	for _, part := range parts {
		if err := part.Get(ctx, &receipt); err != nil {
			return "", err
		}
	}
	return receipt, nil
}

func inSequence(ctx workflow.Context, order string) (string, error) {
	ctx = withOptions(ctx)
	var receipt string
	for range activities {
		if err := workflow.ExecuteActivity(ctx, chargeCard, order).Get(ctx, &receipt); err != nil {
			return "", err
		}
	}
	return receipt, nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer_temporal:", err)
		os.Exit(1)
	}
}

func runOne(c client.Client, shape any, id string) {
	options := client.StartWorkflowOptions{ID: id, TaskQueue: queue, EnableEagerStart: true}
	run, err := c.ExecuteWorkflow(context.Background(), options, shape, id)
	must(err)
	var receipt string
	must(run.Get(context.Background(), &receipt))
	if receipt != id {
		must(fmt.Errorf("instance %s gave '%s'", id, receipt))
	}
}

// load keeps instances in flight. It returns how many activities ran while the clock did, and the milliseconds of
// the instances that ended after the beginning.
func load(c client.Client, shape any, inFlight int, length time.Duration) (int64, []float64) {
	begin := time.Now().Add(runUp)
	end := begin.Add(length)
	var mutex sync.Mutex
	var all []float64
	var clients sync.WaitGroup
	for number := range inFlight {
		clients.Add(1)
		go func() {
			defer clients.Done()
			var mine []float64
			for i := number; ; i += inFlight {
				started := time.Now()
				runOne(c, shape, "order-20300101-"+strconv.Itoa(i))
				now := time.Now()
				if !now.Before(begin) {
					mine = append(mine, float64(now.Sub(started).Microseconds())/1000)
				}
				if !now.Before(end) {
					break
				}
			}
			mutex.Lock()
			defer mutex.Unlock()
			all = append(all, mine...)
		}()
	}
	time.Sleep(time.Until(begin))
	before := steps.Load()
	time.Sleep(time.Until(end))
	done := steps.Load() - before
	clients.Wait()
	return done, all
}

func quantile(sorted []float64, part float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(part*float64(len(sorted)-1))]
}

func versions() string {
	info, _ := debug.ReadBuildInfo()
	found := map[string]string{}
	for _, module := range info.Deps {
		found[module.Path] = module.Version
	}
	return fmt.Sprintf("go.temporal.io/server %s, go.temporal.io/sdk %s, %s",
		found["go.temporal.io/server"], found["go.temporal.io/sdk"], info.GoVersion)
}

func main() {
	if len(os.Args) < 4 {
		must(fmt.Errorf("takes a shape, the number in flight and seconds"))
	}
	shape := any(inParallel)
	if os.Args[1] == "s5" {
		shape = inSequence
	}
	inFlight, err := strconv.Atoi(os.Args[2])
	must(err)
	seconds, err := strconv.ParseFloat(os.Args[3], 64)
	must(err)

	server := temporaltest.NewServer()
	server.NewWorkerWithOptions(queue, func(registry worker.Registry) {
		registry.RegisterWorkflow(inParallel)
		registry.RegisterWorkflow(inSequence)
		registry.RegisterActivity(chargeCard)
	}, worker.Options{
		MaxConcurrentActivityTaskPollers: pollers,
		MaxConcurrentWorkflowTaskPollers: pollers,
	})

	done, latencies := load(server.GetDefaultClient(), shape, inFlight, time.Duration(seconds*float64(time.Second)))
	slices.Sort(latencies)
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"versions": versions(),
		"settings": fmt.Sprintf("one process, SQLite in memory, not durable; %d pollers each, eager starts and "+
			"activities", pollers),
		"steps":   done,
		"seconds": seconds,
		"p50_ms":  quantile(latencies, 0.5),
		"p99_ms":  quantile(latencies, 0.99),
	}))
	// The server has nothing to save.
	os.Exit(0)
}
