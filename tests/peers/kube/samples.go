package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// How deep schemas lie in each other at most.
const deepest = 2

// printSamples prints random objects of the kinds, each as a line with its kind, its protobuf in base64
// and its JSON. The JSON is that of the object as a server has read it from the protobuf.
func printSamples(out io.Writer, words []string, each int, seed int64) error {
	known, err := knownTypes()
	if err != nil {
		return err
	}
	codecs := serializer.NewCodecFactory(known)
	wire := protobuf.NewSerializer(known, known)
	fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, valuesOfOurs), rand.NewSource(seed), codecs)
	fill.NilChance(.7).NumElements(1, 2)
	for range each {
		for _, word := range words {
			if err := printSample(out, known, wire, fill, word); err != nil {
				return fmt.Errorf("%s: %w", word, err)
			}
		}
	}
	return nil
}

func printSample(out io.Writer, known *runtime.Scheme, wire runtime.Serializer, fill *randfill.Filler, word string) error {
	kind, err := kindNamed(word)
	if err != nil {
		return err
	}
	object, err := known.New(kind)
	if err != nil {
		return err
	}
	fill.Fill(object)
	object.GetObjectKind().SetGroupVersionKind(kind)
	bytes, err := runtime.Encode(wire, object)
	if err != nil {
		return err
	}
	read, err := runtime.Decode(wire, bytes)
	if err != nil {
		return err
	}
	read.GetObjectKind().SetGroupVersionKind(kind)
	text, err := json.Marshal(read)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s %s %s\n", word, base64.StdEncoding.EncodeToString(bytes), text)
	return err
}

// valuesOfOurs fills what the usual random values leave out, or fill with what JSON cannot hold.
func valuesOfOurs(serializer.CodecFactory) []any {
	depth := 0
	return []any{
		func(text *string, c randfill.Continue) {
			*text = []string{"", "a", "b.example", "ä \"<\u2028", c.String(6)}[c.Rand.Intn(5)]
		},
		func(number *float64, c randfill.Continue) {
			*number = []float64{0, 1, -3, 0.25, -1024.5, 1 << 40, 1e19, 1e300}[c.Rand.Intn(8)]
		},
		func(quantity *resource.Quantity, c randfill.Continue) {
			*quantity = resource.MustParse([]string{"0", "1", "250m", "1Gi", "3e6", "-2"}[c.Rand.Intn(6)])
		},
		func(either *intstr.IntOrString, c randfill.Continue) {
			*either = []intstr.IntOrString{{}, intstr.FromInt32(-8), intstr.FromString(""), intstr.FromString("8%")}[c.Rand.Intn(4)]
		},
		func(fields *meta.FieldsV1, c randfill.Continue) { fields.SetRawBytes([]byte(someJSON(c, true))) },
		func(entry *meta.ManagedFieldsEntry, c randfill.Continue) { c.FillNoCustom(entry) },
		func(raw *runtime.RawExtension, c randfill.Continue) { raw.Raw = []byte(someJSON(c, true)) },
		func(value *extensions.JSON, c randfill.Continue) { value.Raw = []byte(someJSON(c, false)) },
		func(props *extensions.JSONSchemaProps, c randfill.Continue) {
			if depth < deepest {
				depth++
				c.FillNoCustom(props)
				depth--
			}
		},
	}
}

func someJSON(c randfill.Continue, object bool) string {
	texts := []string{`{}`, `{"f:a":{".":{}}}`, `{"a":[1,2.5,null,"x"]}`, `null`, `"text"`, `7`, `[true]`}
	if object {
		texts = texts[:3]
	}
	return texts[c.Rand.Intn(len(texts))]
}
