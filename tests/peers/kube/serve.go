package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// serve runs the API server until the context ends.
func serve(ctx context.Context, asked settings, etcd string) error {
	keys, err := newIdentity(asked.folder)
	if err != nil {
		return err
	}
	// The listener is opened here, so that a free port stays ours between choosing and using it.
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", asked.port))
	if err != nil {
		return err
	}
	completed, err := serverOptions(ctx, keys, listener, etcd, asked.apiFlags)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- app.Run(ctx, completed) }()
	config := &rest.Config{
		Host: "https://" + listener.Addr().String(),
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile: keys.path("ca.crt"), CertFile: keys.path("admin.crt"), KeyFile: keys.path("admin.key"),
		},
	}
	if err := whenReady(ctx, config, failed); err != nil {
		return err
	}
	if err := startControllers(ctx, config); err != nil {
		return err
	}
	if err := keys.writeKubeconfig(config.Host); err != nil {
		return err
	}
	fmt.Println("ready", config.Host)
	return <-failed
}

func serverOptions(ctx context.Context, keys identity, listener net.Listener, etcd string, more []string) (options.CompletedOptions, error) {
	chosen := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, set := range chosen.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	words := []string{
		"--etcd-servers=http://" + etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + keys.path("server.crt"),
		"--tls-private-key-file=" + keys.path("server.key"),
		"--client-ca-file=" + keys.path("ca.crt"),
		"--anonymous-auth=false",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + keys.path("accounts.key"),
		"--service-account-signing-key-file=" + keys.path("accounts.key"),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC",
		// Without a scheduler and kubelets, what is set on pods and nodes for them is only noise.
		"--disable-admission-plugins=ServiceAccount,Priority,DefaultTolerationSeconds,TaintNodesByCondition",
		"--endpoint-reconciler-type=none",
		"--allow-privileged=true",
	}
	if err := flags.Parse(append(words, more...)); err != nil {
		return options.CompletedOptions{}, err
	}
	chosen.SecureServing.Listener = listener
	if err := chosen.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return options.CompletedOptions{}, err
	}
	completed, err := chosen.Complete(ctx)
	if err != nil {
		return completed, err
	}
	return completed, utilerrors.NewAggregate(completed.Validate())
}

// whenReady returns when /readyz says so, or with the reason why it never will.
func whenReady(ctx context.Context, config *rest.Config, failed <-chan error) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-failed:
			return false, fmt.Errorf("the server ended: %w", err)
		default:
		}
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil, nil
	})
}
