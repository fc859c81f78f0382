package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// print shows the report to people.
func (r report) print(w io.Writer) error {
	var page bytes.Buffer
	fmt.Fprintf(&page, "%s\n\n", r.Machine)
	fmt.Fprintf(&page, "Median (best) of the rounds. Ratio and spread: airlockfs divided by another, within one round.\n\n")
	t := tabwriter.NewWriter(&page, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "work\tamount\tunit\tnative\tbindfs\tloopback\tairlockfs\tratio\tspread\ttarget\tok")
	for _, m := range r.Rows {
		fmt.Fprintln(t, strings.Join(m.cells(), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	r.printRequests(&page)
	r.printFailures(&page)
	_, err := page.WriteTo(w)
	return err
}

func (m measured) cells() []string {
	return []string{
		m.Work, m.Amount, string(m.Unit),
		m.figure(native, m.Native), m.figure(bindfs, m.Bindfs),
		m.figure(loopback, m.Loopback), m.figure(airlockfs, m.Airlockfs),
		m.ratio(), m.spread(), cmp.Or(m.Target, "-"), m.verdict(),
	}
}

func (m measured) figure(config string, median *float64) string {
	if median == nil {
		return "not measured"
	}
	return fmt.Sprintf("%s (%s)", short(*median), short(m.Best[config]))
}

func (m measured) ratio() string {
	if m.Ratio == nil || m.Against == "" {
		return "-"
	}
	return fmt.Sprintf("%.2f × %s", *m.Ratio, m.Against)
}

func (m measured) spread() string {
	if m.Spread == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f–%.2f", m.Spread[0], m.Spread[1])
}

// verdict says if the target is met, and how far away it is.
func (m measured) verdict() string {
	switch {
	case m.Target == "":
		return "-"
	case m.OK == nil:
		return "not measured"
	case m.Unit == claims: // none is the target, and no share of it
		return map[bool]string{true: "yes", false: "NO"}[*m.OK]
	case *m.OK:
		return fmt.Sprintf("yes, %.0f %% to spare", max(0, -100**m.Distance))
	default:
		return fmt.Sprintf("NO, %.0f %% away", 100**m.Distance)
	}
}

func (r report) printRequests(w *bytes.Buffer) {
	for _, work := range slices.Sorted(maps.Keys(r.Requests)) {
		each := r.Requests[work]
		fmt.Fprintf(w, "\nrequests to %s one item: %.1f =", work, each.sum())
		for _, opcode := range slices.Sorted(maps.Keys(each)) {
			fmt.Fprintf(w, " %s %.2f", opcode, each[opcode])
		}
		fmt.Fprintln(w)
	}
}

// printFailures gathers the phases that failed for the same reason.
func (r report) printFailures(w *bytes.Buffer) {
	type cause struct{ config, reason string }
	var order []cause
	phases := map[cause][]string{}
	for _, f := range r.Failures {
		c := cause{f.Config, f.Reason}
		if phases[c] == nil {
			order = append(order, c)
		}
		phases[c] = append(phases[c], f.Phase)
	}
	for _, c := range order {
		fmt.Fprintf(w, "\nNOT MEASURED: %s (%s): %s\n", c.config, strings.Join(phases[c], ", "), c.reason)
	}
}

// short shows three significant digits, or all before the point.
func short(v float64) string {
	switch {
	case v >= 100 || v == 0:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
