package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/component-base/version"
)

// Types whose JSON is not made of their fields, and what the table calls them.
var special = map[reflect.Type]string{
	reflect.TypeFor[meta.Time]():                               "time",
	reflect.TypeFor[meta.MicroTime]():                          "microtime",
	reflect.TypeFor[meta.FieldsV1]():                           "json",
	reflect.TypeFor[resource.Quantity]():                       "quantity",
	reflect.TypeFor[intstr.IntOrString]():                      "intorstring",
	reflect.TypeFor[runtime.RawExtension]():                    "json",
	reflect.TypeFor[extensions.JSON]():                         "json",
	reflect.TypeFor[extensions.JSONSchemaPropsOrBool]():        "oneof-bool",
	reflect.TypeFor[extensions.JSONSchemaPropsOrArray]():       "oneof-list",
	reflect.TypeFor[extensions.JSONSchemaPropsOrStringArray](): "oneof-strings",
}

var scalars = map[reflect.Kind]string{
	reflect.String: "string", reflect.Bool: "bool", reflect.Float64: "double",
	reflect.Int32: "int32", reflect.Int64: "int64",
}

// knownTypes has every kind that a client of a cluster without extensions can send.
func knownTypes() (*runtime.Scheme, error) {
	known := runtime.NewScheme()
	return known, errors.Join(scheme.AddToScheme(known), extensions.AddToScheme(known))
}

// kindNamed reads GROUP/VERSION/KIND, or VERSION/KIND of the core group.
func kindNamed(word string) (schema.GroupVersionKind, error) {
	cut := strings.LastIndex(word, "/")
	if cut < 0 {
		return schema.GroupVersionKind{}, fmt.Errorf("%q is not VERSION/KIND", word)
	}
	version, err := schema.ParseGroupVersion(word[:cut])
	return version.WithKind(word[cut+1:]), err
}

// table collects the messages that kinds are made of.
type table struct {
	kinds    []string
	messages map[string][]string
}

// printWire prints how the kinds are written in protobuf and in JSON: for each field its number, its
// name in JSON and its type. Afterwards nothing has to be known of the Go types to translate one form
// into the other.
//
//	NAME!   is written also when it is zero
//	.       its fields stand among those of the outer message
//	TYPE?   a pointer: zero is not absent;  [TYPE] a list;  {TYPE} a map from strings
func printWire(out io.Writer, words []string) error {
	known, err := knownTypes()
	if err != nil {
		return err
	}
	found := table{messages: map[string][]string{}}
	for _, word := range words {
		kind, err := kindNamed(word)
		if err != nil {
			return err
		}
		object, err := known.New(kind)
		if err != nil {
			return err
		}
		name, err := found.message(reflect.TypeOf(object).Elem())
		if err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
		found.kinds = append(found.kinds, word+" "+name)
	}
	fmt.Fprintf(out, "# Made by `kube wire` from the types of Kubernetes %s.\n", version.Get().GitVersion)
	for _, line := range found.kinds {
		fmt.Fprintln(out, "kind", line)
	}
	for _, name := range slices.Sorted(maps.Keys(found.messages)) {
		fmt.Fprintln(out, "message", name)
		for _, line := range found.messages[name] {
			fmt.Fprintln(out, line)
		}
	}
	return nil
}

// message adds a type with all types below it, and returns its name.
func (t *table) message(of reflect.Type) (string, error) {
	name := path.Base(path.Dir(of.PkgPath())) + "/" + path.Base(of.PkgPath()) + "." + of.Name()
	if _, seen := t.messages[name]; seen {
		return name, nil
	}
	if _, ok := reflect.New(of).Interface().(interface{ MarshalJSON() ([]byte, error) }); ok {
		return "", fmt.Errorf("%s writes JSON of its own", of)
	}
	t.messages[name] = nil
	lines := []string{}
	for i := range of.NumField() {
		field := of.Field(i)
		tag, ok := field.Tag.Lookup("protobuf")
		if !ok {
			if field.Type != reflect.TypeFor[meta.TypeMeta]() && field.Tag.Get("json") != "-" {
				return "", fmt.Errorf("%s.%s is in JSON only", of, field.Name)
			}
			continue
		}
		line, err := t.field(field, strings.Split(tag, ","))
		if err != nil {
			return "", fmt.Errorf("%s.%s: %w", of, field.Name, err)
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b string) int { return number(a) - number(b) })
	t.messages[name] = lines
	return name, nil
}

func number(line string) int {
	value, _ := strconv.Atoi(line[:strings.Index(line, " ")])
	return value
}

func (t *table) field(field reflect.StructField, tag []string) (string, error) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	kind, err := t.shape(field.Type)
	if err != nil {
		return "", err
	}
	switch {
	case name == "" && (field.Anonymous || options == "inline"):
		return tag[1] + " . " + kind, nil
	case name == "" || name == "-":
		return "", errors.New("it has no name in JSON")
	}
	words := strings.Split(options, ",")
	_, known := special[field.Type]
	omitted := slices.Contains(words, "omitempty")
	if field.Type.Kind() == reflect.Struct {
		// Such a field is never empty, only zero, and nobody who reads the table could say when.
		if omitted = slices.Contains(words, "omitzero"); omitted && !known {
			return "", errors.New("it is left out when all of its fields are zero")
		}
	}
	if !omitted {
		name += "!"
	}
	return tag[1] + " " + name + " " + kind, nil
}

func (t *table) shape(of reflect.Type) (string, error) {
	switch of.Kind() {
	case reflect.Pointer:
		kind, err := t.single(of.Elem())
		return kind + "?", err
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return "bytes", nil
		}
		if isMessage(of) {
			return t.single(of)
		}
		kind, err := t.single(of.Elem())
		return "[" + kind + "]", err
	case reflect.Map:
		if of.Key().Kind() != reflect.String {
			return "", fmt.Errorf("a map with keys of %s", of.Key())
		}
		kind, err := t.single(of.Elem())
		return "{" + kind + "}", err
	default:
		return t.single(of)
	}
}

// single is the type of what is neither a list nor a map; lists of strings with a name of their own
// are messages with one field.
func (t *table) single(of reflect.Type) (string, error) {
	if name, ok := special[of]; ok {
		if strings.HasPrefix(name, "oneof-") {
			_, err := t.message(reflect.TypeFor[extensions.JSONSchemaProps]())
			return name, err
		}
		return name, nil
	}
	if name, ok := scalars[of.Kind()]; ok {
		return name, nil
	}
	switch {
	case of.Kind() == reflect.Struct:
		return t.message(of)
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8:
		return "bytes", nil
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.String && isMessage(of):
		return "strings", nil
	}
	return "", fmt.Errorf("nobody knows how to write %s", of)
}

func isMessage(of reflect.Type) bool {
	return reflect.PointerTo(of).Implements(reflect.TypeFor[interface{ Unmarshal([]byte) error }]())
}
