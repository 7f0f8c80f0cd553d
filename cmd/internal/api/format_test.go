package api

import (
	"encoding/json"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

func TestFormats(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{count(0), "0"}, {count(-1), "-1"}, {count(999), "999"}, {count(1000), "1,000"}, {count(-123456), "-123,456"},
		{count(uint64(4021000)), "4,021,000"},
		{Rate(1e9), "1G"}, {Rate(2_500_000_000), "2.5G"}, {Rate(800e9), "800G"}, {Rate(1.6e12), "1.6T"},
		{Rate(100e6), "100M"}, {Rate(1_000_001), "1000.001k"}, {Rate(999), "999"},
		{duration(0), "0"}, {duration(999), "999ns"}, {duration(1_204_321), "1.204ms"}, {duration(812e6), "812ms"},
		{duration(123_456_789_000), "2m3.5s"},
		{clock(0), "00:00:00"}, {clock(751 * int64(time.Second)), "00:12:31"},
		{clock(2*86400e9 + 3_604e9), "2d 01:00:04"},
		{percent(0), "0.0"}, {percent(0.217), "21.7"}, {percent(1), "100.0"},
	} {
		assert.True(t, tt.got == tt.want, "got %s, want %s", tt.got, tt.want)
	}
}

func TestTable(t *testing.T) {
	table := newTable("NAME", ">N", "NOTE")
	table.row("a", "1", "")
	table.row("µµµµµµ", "1,000", "x")
	want := "NAME        N  NOTE\na           1\nµµµµµµ  1,000  x\n"
	got := table.String()
	assert.True(t, got == want, "got\n%q\nwant\n%q", got, want)
	got = sections("top\n", section{"left out", newTable("A")},
		section{"title", table})
	assert.True(t, got == "top\n\ntitle\n"+want, "got %q", got)
}

func TestPriorityJSON(t *testing.T) {
	for _, tt := range []struct {
		p    Priority
		json string
	}{{0, "0"}, {7, "7"}, {All, `"all"`}, {Unknown, `"unknown"`}} {
		b, err := json.Marshal(tt.p)
		assert.True(t, err == nil && string(b) == tt.json, "%v: got %s, %v, want %s", tt.p, b, err, tt.json)
		var p Priority
		err = json.Unmarshal(b, &p)
		assert.True(t, err == nil && p == tt.p, "%s: got %v, %v, want %v", b, p, err, tt.p)
	}
	for _, bad := range []string{"8", "-1", `"3"`, "1.5", "true", `"none"`} {
		err := json.Unmarshal([]byte(bad), new(Priority))
		assert.True(t, err != nil, "%s is taken for a priority", bad)
	}
}

func TestParseRefusesAnotherSchema(t *testing.T) {
	for _, noun := range Nouns() {
		_, err := Parse(noun, []byte(`{"schema":2}`))
		assert.True(t, err != nil, "%s: schema 2 was taken", noun)
	}
}

func TestPauseState(t *testing.T) {
	for _, tt := range []struct {
		on, up, paused, holding bool
		want                    string
	}{
		{false, true, false, false, "off"}, {false, false, false, false, "off"}, {true, true, false, false, "running"},
		{true, true, true, false, "paused by peer"},
		{true, true, false, true, "holding peer"}, {true, true, true, true, "both"},
		{true, false, false, false, "down"}, {true, false, true, true, "down"},
	} {
		assert.Equal(t, pauseState(tt.on, tt.up, tt.paused, tt.holding), tt.want, "%+v", tt)
	}
}
