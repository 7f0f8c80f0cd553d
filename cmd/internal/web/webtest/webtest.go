// Package webtest lets Go tests drive the page in a real browser: Debian's chromium, without a screen.
package webtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"pfcswitch/dataplane/assert"
)

// timeout is how long a test waits for what has to happen.
const timeout = time.Minute

// A Page is a tab of a browser of its own, in which every fault is noted.
type Page struct {
	t   testing.TB
	ctx context.Context

	mu     sync.Mutex // guards what follows
	faults []string   // what the console says, and exceptions
	asked  []string   // addresses that were asked for
}

// Open starts a browser, in dark or light mode, with a window of some CSS pixels, at an address. The browser ends with
// the test. Where there is no chromium the test is skipped, but not in CI, which installs it.
func Open(t testing.TB, address string, dark bool, width, height int64) *Page {
	t.Helper()
	path, err := exec.LookPath("chromium")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatalf("CI installs chromium, but: %v", err)
	case err != nil:
		t.Skip("NOT TESTED in a browser: there is no chromium (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU, chromedp.Flag("host-resolver-rules",
			"MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.Flag("disable-dev-shm-usage", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // root has none
	}
	browser, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closePage := chromedp.NewContext(browser)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		closePage()
		end()
	})
	p := &Page{t: t, ctx: ctx}
	p.must(chromedp.Do(ctx))
	p.must(chromedp.Listen(ctx, p.note))
	Call(p, network.Enable, network.EnableParams{})
	Call(p, log.Enable, cdp.Empty{})
	Call(p, runtime.Enable, cdp.Empty{})
	p.Look(dark, width, height)
	p.must(chromedp.Do(ctx, chromedp.Navigate(address)))
	return p
}

// Look makes the page look as on another device.
func (p *Page) Look(dark bool, width, height int64) {
	p.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	Call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
	Call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height,
		DeviceScaleFactor: 1})
}

// note takes what the browser tells.
func (p *Page) note(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, e.Request.URL)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			p.faults = append(p.faults, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if slices.Contains([]string{"error", "warning", "assert"}, string(e.Type)) {
			p.faults = append(p.faults, fmt.Sprintf("console.%s", e.Type))
		}
	}
}

func (p *Page) must(err error) {
	p.t.Helper()
	assert.MustNoError(p.t, err, "browser")
}

// Call runs a command of the browser's protocol.
func Call[P, R any](p *Page, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	r, err := chromedp.Call(p.ctx, command, params)
	p.must(err)
	return r
}

// Eval returns the value of JavaScript in the page.
func Eval[T any](p *Page, js string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js))
	p.must(err)
	return v
}

// Press presses a key, such as "\t".
func (p *Page) Press(key string) {
	p.t.Helper()
	p.must(chromedp.Do(p.ctx, chromedp.KeyEvent(key)))
}

// Text returns the visible text of an element.
func (p *Page) Text(id string) (text string) {
	p.t.Helper()
	return Eval[string](p, fmt.Sprintf("document.getElementById(%q).innerText", id))
}

// Await waits until a JavaScript expression is true.
func (p *Page) Await(what, js string) {
	p.t.Helper()
	for deadline := time.Now().Add(timeout); !Eval[bool](p, js); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("after %v still not: %s (%s)\n%s", timeout, what, p.Text("contact"),
				strings.Join(p.Faults(), "\n"))
		}
	}
}

// Faults returns what the browser complained of since the last call: violations of the page's policy, errors of
// scripts, answers that did not come.
func (p *Page) Faults() (faults []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	faults, p.faults = p.faults, nil
	return faults
}

// Strangers returns the addresses outside of a host that were asked for.
func (p *Page) Strangers(host string) (found []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.asked {
		if u, err := url.Parse(a); err != nil || u.Host != host || u.Scheme != "http" {
			found = append(found, a)
		}
	}
	return found
}

// Asked returns how many addresses were asked for.
func (p *Page) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// Screenshot returns what is in the window, as a PNG.
func (p *Page) Screenshot() []byte {
	p.t.Helper()
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	p.must(err)
	return png
}
