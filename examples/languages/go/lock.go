// Holds a lock until the end of the standard input: go run lock.go 127.0.0.1:2379 jobs/nightly
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func main() {
	ctx := context.Background()
	client := must(clientv3.New(clientv3.Config{Endpoints: os.Args[1:2]}))
	session := must(concurrency.NewSession(client, concurrency.WithTTL(10)))
	lock := concurrency.NewMutex(session, os.Args[2])
	must(0, lock.Lock(ctx))
	// Not lock.Header().Revision, which is larger if the lock had to be waited for.
	claim := must(client.Get(ctx, lock.Key()))
	fmt.Println("fence", claim.Kvs[0].CreateRevision)
	must(io.Copy(io.Discard, os.Stdin)) // the work; it must end when session.Done() is closed
	must(0, lock.Unlock(ctx))
	must(0, session.Close())
}

// must returns a value, or ends the program with an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
