package webtest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/accessibility"
)

// lowContrast lists texts that cannot be read well: below 4.5:1, or 3:1 where they are large (WCAG 2.2, 1.4.3).
const lowContrast = `(() => {
  const rgb = c => c.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const back = e => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
      if (c[3] > 0) throw new Error("a background lets others through");
    }
    return [255, 255, 255];
  };
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, style = getComputedStyle(e);
    if (!walk.currentNode.textContent.trim() || !e.checkVisibility() || style.position === "absolute" ||
        e.closest("script,noscript")) continue;
    texts++;
    const [a, b] = [light(rgb(style.color)), light(back(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05), size = parseFloat(style.fontSize);
    const least = size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5;
    const text = walk.currentNode.textContent.trim().slice(0, 40);
    if (ratio < least) found.push(ratio.toFixed(2) + " " + e.className + ": " + text);
  }
  return {texts, found};
})()`

// LowContrast returns texts that cannot be read well, and how many texts it has looked at.
func (p *Page) LowContrast() (found []string, texts int) {
	p.t.Helper()
	v := Eval[struct {
		Texts int      `json:"texts"`
		Found []string `json:"found"`
	}](p, lowContrast)
	return v.Found, v.Texts
}

// Overflow returns what does not fit into the window's width, or into its cell, and what covers something else in a
// picture. Preformatted text may be scrolled.
func (p *Page) Overflow() []string {
	p.t.Helper()
	return Eval[[]string](p, `(() => {
		const found = [], wide = document.documentElement.scrollWidth - innerWidth;
		if (wide > 0) found.push("the page is wider than the window by " + wide);
		for (const e of document.querySelectorAll("svg text")) {
			const text = e.getBoundingClientRect(), svg = e.ownerSVGElement.getBoundingClientRect();
			if (text.width && (text.left < svg.left - 1 || text.right > svg.right + 1 || text.top < svg.top - 1 ||
					text.bottom > svg.bottom + 1)) found.push("the picture cuts: " + e.textContent);
		}
		const shown = [...document.querySelectorAll("svg :is(text, rect)")].filter(e => e.getBoundingClientRect().width);
		shown.forEach((e, i) => shown.slice(i + 1).forEach(other => {
			const a = e.getBoundingClientRect(), b = other.getBoundingClientRect();
			if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1 &&
					(e.tagName === "text" || e.parentNode !== other.parentNode))
				found.push("in the picture " + (other.textContent || "a box") + " covers " + (e.textContent || "a box"));
		}));
		for (const e of document.querySelectorAll("h1, h2, h3, p, nav, figcaption, .part, .matrix th, .scroll:has(table)")) {
			if (e.checkVisibility() && !e.classList.contains("hidden") && e.scrollWidth > e.clientWidth + 1)
				found.push((e.ariaLabel || e.tagName) + " is cut: " + e.textContent.trim().slice(0, 30));
		}
		return found;
	})()`)
}

// Unreached walks through the page with the tabulator key and returns what can be used and was not reached, or was and
// does not show it.
func (p *Page) Unreached() (found []string) {
	p.t.Helper()
	const wanted = `[...document.querySelectorAll("a, button, select, summary, input, [tabindex='0']")]
		.filter(e => e.checkVisibility())`
	// The page notes where the focus was: on a busy machine two strokes may be handled between two looks.
	Eval[bool](p, `(() => { document.stops = [];
		document.addEventListener("focusin", e => document.stops.push(+(e.target.dataset.stop ?? -1)));
		return true; })()`)
	all := Eval[[]string](p, wanted+`.map((e, i) => {
		e.dataset.stop = i;
		return i + " " + e.tagName + " " + (e.getAttribute("aria-label") || e.innerText.slice(0, 30));
	})`)
	reached := map[int]bool{}
	for range len(all) + 2 {
		p.Press("\t")
		v := Eval[struct {
			Stop  *int   `json:"stop"`
			Style string `json:"style"`
			Right bool   `json:"right"`
		}](p, `(() => { const e = document.activeElement, r = e.getBoundingClientRect();
			return {stop: e.dataset.stop ? +e.dataset.stop : null, style: getComputedStyle(e).outlineStyle,
				right: r.bottom > 0 && r.top < innerHeight}; })()`)
		if v.Stop == nil {
			continue
		}
		reached[*v.Stop] = true
		if v.Style == "none" || !v.Right {
			found = append(found, "the focus cannot be seen: "+all[*v.Stop])
		}
	}
	for _, stop := range Eval[[]int](p, `document.stops`) {
		reached[stop] = true
	}
	for i, what := range all {
		if !reached[i] {
			found = append(found, "the keyboard does not reach: "+what)
		}
	}
	return found
}

// named are the roles whose nodes have to have names.
var named = []string{"link", "button", "heading", "region", "navigation", "table", "columnheader", "rowheader",
	"combobox", "DisclosureTriangle", "image"}

// Nameless returns what a screen reader would find without a name, and how many nodes with one of each role it finds.
func (p *Page) Nameless() (found []string, roles map[string]int) {
	p.t.Helper()
	roles = map[string]int{}
	for _, n := range Call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role, name := plain(n.Role), ""
		if n.Name != nil {
			name = plain(n.Name)
		}
		roles[role]++
		if name == "" && slices.Contains(named, role) {
			found = append(found, fmt.Sprintf("%s without a name (node %s)", role, n.NodeID))
		}
	}
	return found, roles
}

func plain(v *accessibility.Value) (text string) {
	_ = json.Unmarshal([]byte(v.Value), &text) // what is no text has none
	return text
}
