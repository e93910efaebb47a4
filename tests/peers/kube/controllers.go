package main

import (
	"context"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

// How often the garbage collector looks for kinds that have come or gone. A cluster takes longer;
// tests make kinds and delete objects of them within a second.
const newKindsEvery = time.Second

// startControllers runs what completes a deletion, and the roles that are put together from others.
func startControllers(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, 0)
	partial := metadatainformer.NewSharedInformerFactory(objects, 0)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	started := make(chan struct{})

	factory := informerfactory.NewInformerFactory(shared, partial)
	collector, err := garbagecollector.NewGarbageCollector(
		ctx, client, objects, mapper, garbagecollector.DefaultIgnoredResources(), factory, started)
	if err != nil {
		return err
	}
	namespaces := namespace.NewNamespaceController(
		ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
		shared.Core().V1().Namespaces(), 5*time.Minute, core.FinalizerKubernetes)
	roles := clusterroleaggregation.NewClusterRoleAggregation(shared.Rbac().V1().ClusterRoles(), client.RbacV1())

	shared.Start(ctx.Done())
	partial.Start(ctx.Done())
	close(started)
	go collector.Run(ctx, 2, 30*time.Second)
	go collector.Sync(ctx, client.Discovery(), newKindsEvery)
	go namespaces.Run(ctx, 2)
	go roles.Run(ctx, 1)
	return nil
}
