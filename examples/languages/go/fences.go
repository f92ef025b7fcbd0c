// Rejects the write of a former holder: go run fences.go 127.0.0.1:2379 jobs/nightly
package main

import (
	"context"
	"fmt"
	"os"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// resource is a value that is written only with the highest fencing token so far.
type resource struct {
	highest int64
	value   string
}

func (r *resource) write(fence int64, value string) bool {
	if fence < r.highest {
		return false
	}
	r.highest, r.value = fence, value
	return true
}

func main() {
	ctx := context.Background()
	client := must(clientv3.New(clientv3.Config{Endpoints: os.Args[1:2]}))
	session := must(concurrency.NewSession(client, concurrency.WithTTL(10)))
	var fences [2]int64
	for round := range fences {
		lock := concurrency.NewMutex(session, os.Args[2])
		must(0, lock.Lock(ctx))
		fences[round] = must(client.Get(ctx, lock.Key())).Kvs[0].CreateRevision
		must(0, lock.Unlock(ctx))
	}
	must(0, session.Close())
	r := &resource{}
	if !r.write(fences[1], "new") || r.write(fences[0], "old") {
		panic("the stale write was accepted")
	}
	fmt.Println("rejected", fences[0], "after", fences[1])
}

// must returns a value, or ends the program with an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
