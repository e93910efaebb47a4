// Command kube runs a kube-apiserver and the etcd that it stores in as one process, for tests that
// compare another server with it.
//
// It listens on loopback only, creates new certificates, and ends by itself when its time is over.
// Of a cluster's controllers it has the three without which deleting something would have no effect
// and cluster roles would stay empty: garbage collection, namespaces, and role aggregation.
//
// When the server is ready, the folder holds admin.kubeconfig, which is written last.
//
// `kube wire KIND...` starts nothing: it prints how these kinds are written in protobuf, and with
// `--samples N` random objects of them. A kind is named like v1/Pod or apps/v1/Deployment.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type settings struct {
	folder   string
	port     int
	limit    time.Duration
	fsync    bool
	apiFlags []string
}

func main() {
	// Clients inside the server name themselves after the program, and so show as managers of fields.
	os.Args[0] = "kube-apiserver"
	if len(os.Args) > 1 && os.Args[1] == "wire" {
		end(wire(os.Args[2:]))
	}
	var asked settings
	flag.StringVar(&asked.folder, "dir", "", "an empty or missing folder for everything that the server writes")
	flag.IntVar(&asked.port, "port", 0, "port on loopback; 0 is any free one")
	flag.DurationVar(&asked.limit, "limit", 30*time.Minute, "the server ends after this time")
	flag.BoolVar(&asked.fsync, "fsync", false, "let etcd wait for the disk, as in production")
	flag.Parse()
	asked.apiFlags = flag.Args()
	end(run(asked))
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// wire prints facts about the protobuf form of kinds.
func wire(words []string) error {
	flags := flag.NewFlagSet("wire", flag.ExitOnError)
	samples := flags.Int("samples", 0, "so many random objects of each kind instead of the table")
	seed := flags.Int64("seed", 1, "the same number gives the same objects")
	if err := flags.Parse(words); err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	print := func() error { return printWire(out, flags.Args()) }
	if *samples > 0 {
		print = func() error { return printSamples(out, flags.Args(), *samples, *seed) }
	}
	return errors.Join(print(), out.Flush())
}

func run(asked settings) error {
	if asked.folder == "" {
		return errors.New("--dir is needed")
	}
	if err := os.MkdirAll(asked.folder, 0o700); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, asked.limit)
	defer cancel()

	store, err := startEtcd(ctx, asked.folder, asked.fsync)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer store.Close()
	err = serve(ctx, asked, store.Clients[0].Addr().String())
	if ctx.Err() != nil {
		return nil
	}
	return err
}
