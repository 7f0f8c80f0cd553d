package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/demo"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

// documents are all JSON documents that commands print.
func documents(t *testing.T) []any {
	all := []any{new(api.Line), new(api.Applied), new(checkReport), new(demo.Report), new(traffic.SendReport),
		new(traffic.SinkReport), new(traffic.StormReport), new(api.Cleared),
		new(api.Doctor), new(api.LinkCheck), new(api.HeadroomCheck), new(api.Explanation)}
	for _, noun := range api.Nouns() {
		r := assert.Got(api.Parse(noun, []byte(`{"schema":1}`))).Must(t)
		all = append(all, r)
	}
	return all
}

// The units that a key of a number may end in.
var unit = regexp.MustCompile(
	`(^|_)(ns|s|seconds|bytes|bits|cells|bits_per_second|frames_per_second|share|percent|frames|drops)$`)

// Keys whose numbers have no unit: counts of what the key names, and numbers that are names.
var unitless = strings.Fields(`schema seq next next_event count line more
	priority queue vlan weight selector protocol slots quanta flow
	ports_configured ports_up slow_readers_cut_off moves not_learned forgotten small_slots entries
	xoff xon xoffs exceeded_xoffs late_xoffs blocked sent_xoff sent_xon holds holds_passed member_holds member_holds_passed uplink_holds uplink_holds_passed storms_detected storms_restored recurred ageouts flood_copies
	ports far_ends unstopped_xoffs kernel_stamped
	samples asked answered lost replies results streams discarded_tlvs unrecognized_tlvs
	sent received reordered duplicated segments_sent_again octets pfc_sent offered green yellow red delivered
	lossless_drops_since_start lossless_drops_meanwhile behind imbalance speed cpus thread`)

// JSON documents have keys in one style, units in the keys of numbers, all keys, and no null in place of an array.
func TestJSONRules(t *testing.T) {
	for _, v := range documents(t) {
		name := reflect.TypeOf(v).Elem().String()
		checkType(t, name, reflect.TypeOf(v).Elem(), "")
		var b bytes.Buffer
		assert.Must(t, api.WriteJSON(&b, v))
		var keys map[string]any
		assert.Must(t, json.Unmarshal(b.Bytes(), &keys))
		_, ok := keys["schema"].(float64)
		assert.True(t, ok, "%s: no schema", name)
		checkArrays(t, name, reflect.TypeOf(v).Elem(), keys)
	}
}

var keyStyle = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func checkType(t *testing.T, path string, typ reflect.Type, key string) {
	t.Helper()
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		checkType(t, path, typ.Elem(), key)
	case reflect.Map, reflect.Interface:
		t.Errorf("%s: a %v has no fixed shape", path, typ.Kind())
	case reflect.Struct:
		if typ == reflect.TypeFor[time.Time]() {
			return
		}
		for f := range typ.Fields() {
			tag := f.Tag.Get("json")
			name, options, _ := strings.Cut(tag, ",")
			switch {
			case f.Anonymous && tag == "":
				checkType(t, path, f.Type, key)
				continue
			case !f.IsExported():
				continue
			case !keyStyle.MatchString(name):
				t.Errorf("%s.%s: the key is %q, want words in small letters with _ between them", path, f.Name, name)
			case options != "":
				t.Errorf("%s.%s: %q leaves the key out: what does not exist is null", path, name, options)
			}
			within := name
			if unit.MatchString(key) {
				within = key // the unit of an object is that of its numbers
			}
			checkType(t, path+"."+name, f.Type, within)
		}
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float64:
		if typ != reflect.TypeFor[api.Priority]() && !unit.MatchString(key) && !slices.Contains(unitless, key) {
			t.Errorf("%s is a number: end its key with a unit (or name it among the unitless)", path)
		}
	}
}

// checkArrays compares the JSON of an empty document with its type.
func checkArrays(t *testing.T, path string, typ reflect.Type, keys map[string]any) {
	t.Helper()
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			checkArrays(t, path, f.Type, keys)
			continue
		}
		v, ok := keys[name]
		assert.True(t, ok || !f.IsExported(), "%s: %s is left out", path, name)
		switch _, array := v.([]any); {
		case (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Array) && !array:
			t.Errorf("%s.%s is %v, want an array", path, name, v)
		case f.Type.Kind() == reflect.Struct:
			if object, ok := v.(map[string]any); ok {
				checkArrays(t, path+"."+name, f.Type, object)
			}
		}
	}
}
