package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// columns are the switches in the order of the table.
var columns = []string{dutPFC, dutBridge, dutOVS, dutOVSTSO, dutMachine}

// printTable prints a line for each value: the switches beside each other, and pfcswitch's ratios to its peers.
func printTable(out io.Writer, rows []row) error {
	shown := slices.DeleteFunc(slices.Clone(columns), func(dut string) bool {
		return !slices.ContainsFunc(rows, func(r row) bool { return r.dut == dut })
	})
	fmt.Fprintln(out, "\nMedians, with the least and the most of the rounds; "+
		"ratios are those of the rounds, in the same way.")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	heads := []string{"MEASURED", "CONDITIONS", "VALUE", "ROUNDS"}
	for _, dut := range shown {
		heads = append(heads, strings.ToUpper(dut))
	}
	fmt.Fprintln(w, strings.Join(append(heads, "TO BRIDGE", "TO OVS", "TO OVS-TSO"), "\t"))
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].group() == rows[0].group() {
			n++
		}
		if !details[rows[0].metric] {
			fmt.Fprintln(w, strings.Join(tableLine(rows[:n], shown), "\t"))
		}
		rows = rows[n:]
	}
	return w.Flush()
}

// tableLine is what all switches have of one value.
func tableLine(rows []row, shown []string) []string {
	line := []string{rows[0].what, rows[0].conditions, rows[0].metric, roundsOf(rows)}
	ratios := map[string]ratio{}
	for _, dut := range shown {
		cell := "-"
		for i := range rows {
			if rows[i].dut == dut {
				cell = rows[i].spread()
			}
			if rows[i].dut == dutPFC {
				ratios = rows[i].ratios
			}
		}
		line = append(line, cell)
	}
	for _, peer := range []string{dutBridge, dutOVS, dutOVSTSO} {
		cell := "-"
		if v, ok := ratios[peer]; ok {
			cell = v.text()
		}
		line = append(line, cell)
	}
	return line
}

// roundsOf is how many rounds the switches have, from the fewest to the most where they differ.
func roundsOf(rows []row) string {
	by := func(a, b row) int { return a.rounds - b.rounds }
	least, most := slices.MinFunc(rows, by).rounds, slices.MaxFunc(rows, by).rounds
	if least == most {
		return strconv.Itoa(least)
	}
	return fmt.Sprintf("%d-%d", least, most)
}

// group is what the row has in common with those of other switches.
func (r *row) group() rowKey { return rowKey{r.what, r.conditions, r.metric, ""} }

// spread writes the median and, of several rounds, least and most.
func (r *row) spread() string {
	if r.rounds == 1 {
		return number(r.median)
	}
	return fmt.Sprintf("%s (%s-%s)", number(r.median), number(r.least), number(r.most))
}

// text writes the median and, of several rounds, least and most.
func (r ratio) text() string {
	if r.rounds == 1 {
		return fmt.Sprintf("%.2f", r.median)
	}
	return fmt.Sprintf("%.2f (%.2f-%.2f)", r.median, r.least, r.most)
}

// number writes three digits that count, and all of those before the point.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	s := strconv.FormatFloat(v, 'f', min(max(0, digits), 6), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
