// Evaluates MutatingAdmissionPolicies by Kubernetes' own admission plugin. Its argument is the folder of Kubernetes'
// published schemas (api/openapi-spec/v3). Reads {"objects": […], "reviews": […]} on stdin: policies with their bindings,
// and AdmissionReviews. Prints one line for each review: whether it is allowed, the reason if not, and the object as it
// would be stored. Ends with 1 and says why for anything else, also for policies that do not attach a pod within 20 s.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/discovery"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
)

const namespace = "shop"

type input struct {
	Objects []json.RawMessage             `json:"objects"`
	Reviews []admissionv1.AdmissionReview `json:"reviews"`
}

type output struct {
	Allowed bool           `json:"allowed"`
	Message string         `json:"message"`
	Object  runtime.Object `json:"object"`
}

// A client whose discovery knows Kubernetes' published schemas.
type client struct{ kubernetes.Interface }

type schemas struct{ discovery.DiscoveryInterfaces }

func (c client) Discovery() discovery.DiscoveryInterfaces { return schemas{c.Interface.Discovery()} }
func (schemas) OpenAPIV3() openapi.Client                 { return openapitest.NewFileClient(os.Args[1]) }

type everybody struct{}

func (everybody) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

func main() {
	var given input
	fail(json.NewDecoder(os.Stdin).Decode(&given))
	decode := scheme.Codecs.UniversalDeserializer()
	objects := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}}
	for _, raw := range given.Objects {
		object, _, err := decode.Decode(raw, nil, nil)
		fail(err)
		objects = append(objects, object)
	}
	plugin := started(objects)
	if len(given.Objects) > 0 {
		fail(inForce(plugin))
	}
	printer := json.NewEncoder(os.Stdout)
	for _, review := range given.Reviews {
		if want := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"); review.GroupVersionKind() != want {
			fail(fmt.Errorf("a review is %s, and %s is expected", review.GroupVersionKind(), want))
		}
		object, _, err := decode.Decode(review.Request.Object.Raw, nil, nil)
		fail(err)
		fail(printer.Encode(answer(plugin, object, review.Request)))
	}
}

func started(objects []runtime.Object) *mutating.Plugin {
	api := client{fake.NewClientset(objects...)}
	plugin, err := mutating.NewPlugin(nil)
	fail(err)
	factory := informers.NewSharedInformerFactory(api, 0)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, registration.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	stop := make(chan struct{})
	plugin.SetEnabled(true)
	plugin.SetExternalKubeInformerFactory(factory)
	plugin.SetExternalKubeClientSet(api)
	plugin.SetRESTMapper(mapper)
	plugin.SetDynamicClient(dynamicfake.NewSimpleDynamicClient(scheme.Scheme))
	plugin.SetDrainedNotification(stop)
	plugin.SetUnconditionalAuthorizer(everybody{})
	fail(plugin.ValidateInitialization())
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	return plugin
}

// The plugin compiles what its informers have found after a while, and tells nobody when it has: a pod that asks for a
// sidecar is admitted again and again until it gets one.
func inForce(plugin *mutating.Plugin) error {
	request := &admissionv1.AdmissionRequest{
		Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Namespace: namespace,
		Operation: admissionv1.Create,
	}
	said := "no pod is changed"
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(50 * time.Millisecond) {
		asks := metav1.ObjectMeta{Name: "asks", Annotations: map[string]string{"sidemirror.dev/attach": "sidecar"}}
		containers := []corev1.Container{{Name: "agent", Image: "agent:1"}}
		pod := &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: asks,
			Spec: corev1.PodSpec{Containers: containers},
		}
		told := answer(plugin, pod, request)
		if !told.Allowed {
			said = told.Message
		} else if len(pod.Spec.InitContainers) > 0 {
			return nil
		}
	}
	return errors.New("the policies do not come into force: " + said)
}

func answer(plugin *mutating.Plugin, object runtime.Object, request *admissionv1.AdmissionRequest) output {
	attributes := admission.NewAttributesRecord(
		object, nil, schema.GroupVersionKind(request.Kind), request.Namespace, request.Name,
		schema.GroupVersionResource(request.Resource), request.SubResource, admission.Operation(request.Operation),
		&metav1.CreateOptions{}, request.DryRun != nil && *request.DryRun, &user.DefaultInfo{Name: request.UserInfo.Username},
	)
	err := plugin.Admit(context.Background(), attributes, admission.NewObjectInterfacesFromScheme(scheme.Scheme))
	if err != nil {
		return output{Message: err.Error(), Object: object}
	}
	return output{Allowed: true, Object: attributes.GetObject()}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
