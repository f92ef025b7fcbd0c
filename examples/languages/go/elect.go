// Leads until the end of the standard input: go run elect.go 127.0.0.1:2379 scheduler host-7
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
	election := concurrency.NewElection(session, os.Args[2])
	must(0, election.Campaign(ctx, os.Args[3]))
	fmt.Println("fence", election.Rev())
	must(io.Copy(io.Discard, os.Stdin)) // the work; it must end when session.Done() is closed
	must(0, election.Resign(ctx))
	must(0, session.Close())
}

// must returns a value, or ends the program with an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
