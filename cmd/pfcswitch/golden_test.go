package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/demo"
	"pfcswitch/cmd/internal/golden"
	"pfcswitch/cmd/internal/paper"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

// filled sets every field of a document: strings to the field's name, numbers to its index.
func filled(v reflect.Value, name string, n int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), name, n)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_700_000_000, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				filled(v.Field(i), f.Name, i+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0), name, n)
	case reflect.Array:
		for i := range v.Len() {
			filled(v.Index(i), name, n+i)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%s %d", name, n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(n) + 0.5)
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Int8:
		if v.SetInt(int64(n)); name == "Schema" {
			v.SetInt(api.Schema)
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		v.SetUint(uint64(n))
	}
}

// The JSON documents of commands have fixed keys, in a fixed order, with fixed types.
func TestGoldenDocuments(t *testing.T) {
	event, end := new(api.Line), new(api.Line)
	for _, tt := range []struct {
		file string
		v    any
	}{
		{"check.json", new(checkReport)}, {"demo.json", new(demo.Report)}, {"send.json", new(traffic.SendReport)},
		{"sink.json", new(traffic.SinkReport)},
		{"storm.json", new(traffic.StormReport)}, {"apply.json", new(api.Applied)}, {"event.json", event},
		{"clear.json", new(api.Cleared)}, {"end.json", end},
		{"doctor.json", new(api.Doctor)}, {"linkcheck.json", new(api.LinkCheck)},
		{"sim.json", new(simulation.Report)}, {"paper.json", new(paper.Result)},
	} {
		filled(reflect.ValueOf(tt.v).Elem(), "", 0)
		// that of the state is a golden file of package api
		event.State, event.Reason, event.Type = nil, nil, api.LineEvent
		end.State, end.Event, end.Type = nil, nil, api.LineEnd
		var b bytes.Buffer
		assert.Must(t, api.WriteJSON(&b, tt.v))
		golden.Check(t, tt.file, b.String())
	}
}

// check of a good file prints what may wait, as text and with -j.
func TestCheckPrintsWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "two.yaml")
	assert.Must(t, os.WriteFile(path, []byte("ports: {p1: {speed: 40M}, p2: {speed: 1G}}\n"), 0o600))
	out, status := run(t, checkCommand(), path)
	const row = "p1      40M  0,1,2,3,4,5,6,7  lossy  312,576  62.52ms\n"
	assert.True(t, status == 0 && strings.Contains(out, row), "status %d\n got %s\nwant %s", status, out, row)
	want := path + ": OK, with 2 warnings\n\nLongest wait"
	assert.True(t, strings.HasPrefix(out, want), "got %s\nwant it to begin with %s", out, want)
	out, status = run(t, checkCommand(), path, "-j")
	assert.True(t, status == 0 && strings.Count(out, `"wait_ns"`) == 16 && !strings.Contains(out, "PRIORITIES"),
		"status %d, want the waits of 16 queues as JSON\n%s", status, out)
}

// check of a file without faults says OK, and how long each ring lasts, in one table. At 25M pauses are long beside any
// time for which this machine may not run the switch, of which it would warn.
func TestCheckSaysOK(t *testing.T) {
	path := filepath.Join(t.TempDir(), "roce.yaml")
	assert.Must(t, os.WriteFile(path, []byte("preset: roce\nports: {p1: {speed: 25M}, p2: {speed: 25M}}\n"), 0o600))
	out, status := run(t, checkCommand(), path)
	golden.Check(t, "check-good.txt", strings.ReplaceAll(out, path, "roce.yaml"))
	assert.Equal(t, status, 0, "status")
}

// check -j of a bad file.
func TestGoldenCheck(t *testing.T) {
	out, status := run(t, checkCommand(), "testdata/bad.yaml", "-j")
	golden.Check(t, "check-bad.json", out)
	assert.Equal(t, status, 1, "status")
}
