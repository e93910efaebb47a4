// Command informer watches one resource the way Go controllers do and prints what it is reported, one
// JSON object per line.
//
// Lines are {"event": "request"|"synced"|"add"|"update"|"delete", ...}. The requests are printed
// too, because an informer that quietly falls back to another way of listing shows the same events.
// It ends when its standard input does.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type settings struct {
	kubeconfig, resource, namespace, client string
}

func main() {
	var asked settings
	flag.StringVar(&asked.kubeconfig, "kubeconfig", "", "how to reach the server")
	flag.StringVar(&asked.resource, "resource", "v1/configmaps", "[GROUP/]VERSION/PLURAL")
	flag.StringVar(&asked.namespace, "namespace", "", "one namespace; all of them if empty")
	flag.StringVar(&asked.client, "client", "dynamic", "typed, dynamic or metadata")
	flag.Parse()
	if err := run(asked); err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

func run(asked settings) error {
	config, err := clientcmd.BuildConfigFromFlags("", asked.kubeconfig)
	if err != nil {
		return err
	}
	out := &lines{encoder: json.NewEncoder(os.Stdout)}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{next, out} })
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	informer, err := newInformer(asked, config)
	if err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(handler(out))
	if err != nil {
		return err
	}
	go informer.Run(ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		out.print(line{Event: "synced"})
	}
	<-ctx.Done()
	return nil
}

func newInformer(asked settings, config *rest.Config) (cache.SharedIndexInformer, error) {
	resource, err := parseResource(asked.resource)
	if err != nil {
		return nil, err
	}
	switch asked.client {
	case "typed":
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(asked.namespace))
		generic, err := factory.ForResource(resource)
		if err != nil {
			return nil, err
		}
		return generic.Informer(), nil
	case "dynamic":
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		return dynamicinformer.NewFilteredDynamicInformer(
			client, resource, asked.namespace, 0, cache.Indexers{}, nil).Informer(), nil
	case "metadata":
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		return metadatainformer.NewFilteredMetadataInformer(
			client, resource, asked.namespace, 0, cache.Indexers{}, nil).Informer(), nil
	}
	return nil, fmt.Errorf("there is no client %q", asked.client)
}

func parseResource(text string) (schema.GroupVersionResource, error) {
	parts := strings.Split(text, "/")
	switch len(parts) {
	case 2:
		return schema.GroupVersionResource{Version: parts[0], Resource: parts[1]}, nil
	case 3:
		return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}, nil
	}
	return schema.GroupVersionResource{}, fmt.Errorf("%q is not [GROUP/]VERSION/PLURAL", text)
}

// line is one line of output.
type line struct {
	Event     string            `json:"event"`
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Request   string            `json:"request,omitempty"`
	Status    int               `json:"status,omitempty"`
}

type lines struct {
	lock    sync.Mutex
	encoder *json.Encoder
}

func (l *lines) print(one line) {
	l.lock.Lock()
	defer l.lock.Unlock()
	_ = l.encoder.Encode(one)
}

func handler(out *lines) cache.ResourceEventHandler {
	print := func(event string, object any) {
		if last, gone := object.(cache.DeletedFinalStateUnknown); gone {
			object = last.Obj
		}
		if seen, err := meta.Accessor(object); err == nil {
			out.print(line{Event: event, Namespace: seen.GetNamespace(), Name: seen.GetName(), Labels: seen.GetLabels()})
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { print("add", object) },
		UpdateFunc: func(_, object any) { print("update", object) },
		DeleteFunc: func(object any) { print("delete", object) },
	}
}

// recorder prints every request and its answer's status.
type recorder struct {
	next http.RoundTripper
	out  *lines
}

func (r recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := r.next.RoundTrip(request)
	seen := line{Event: "request", Request: request.Method + " " + request.URL.RequestURI()}
	if answer != nil {
		seen.Status = answer.StatusCode
	}
	r.out.print(seen)
	return answer, err
}
