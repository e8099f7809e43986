package chromium

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
)

// Page is a tab of a browser.
type Page struct {
	b       *Browser
	session string

	mu  sync.Mutex
	log []string
}

type params map[string]any

// Open opens a tab with a window size at an address.
func (b *Browser) Open(address string, width, height int) *Page {
	b.t.Helper()
	var target struct{ TargetID string }
	b.must("", "Target.createTarget", params{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.must("", "Target.attachToTarget", params{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &Page{b: b, session: attached.SessionID}
	b.wire.mu.Lock()
	b.wire.hear[p.session] = p.hear
	b.wire.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.must(domain+".enable", params{}, nil)
	}
	p.must("Emulation.setDeviceMetricsOverride", params{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.Go(address)
	return p
}

func (b *Browser) must(session, method string, params, result any) {
	b.t.Helper()
	if err := b.wire.call(b.ctx, session, method, params, result); err != nil {
		b.t.Fatalf("%v\n%.2000s", err, b.wire.stderr.String())
	}
}

func (p *Page) must(method string, params, result any) {
	p.b.t.Helper()
	p.b.must(p.session, method, params, result)
}

// hear records what a page writes to the console.
func (p *Page) hear(m message) {
	switch m.Method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening":
		p.mu.Lock()
		defer p.mu.Unlock()
		p.log = append(p.log, m.Method+" "+string(m.Params))
	}
}

// Log returns what the pages of this tab wrote to the console so far, and the dialogs that they opened.
func (p *Page) Log() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// Go loads an address.
func (p *Page) Go(address string) {
	p.b.t.Helper()
	var done struct{ ErrorText string }
	p.must("Page.navigate", params{"url": address}, &done)
	if done.ErrorText != "" {
		p.b.t.Fatalf("%s: %s", address, done.ErrorText)
	}
	p.Await("document.readyState == 'complete' && location.href != 'about:blank'")
}

// Dark switches the emulated dark colour scheme.
func (p *Page) Dark(on bool) {
	p.b.t.Helper()
	theme := "light"
	if on {
		theme = "dark"
	}
	p.must("Emulation.setEmulatedMedia", params{"features": []params{{"name": "prefers-color-scheme", "value": theme}}}, nil)
}

// Resize changes the size of the window.
func (p *Page) Resize(width, height int) {
	p.b.t.Helper()
	p.must("Emulation.setDeviceMetricsOverride", params{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Eval returns the value of an expression. A promise is awaited.
func (p *Page) Eval(expression string, value any) error {
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	if err := p.b.wire.call(p.b.ctx, p.session, "Runtime.evaluate", params{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out); err != nil {
		return err
	}
	if out.ExceptionDetails != nil {
		return fmt.Errorf("%.200s: %s", expression, out.ExceptionDetails.Exception.Description)
	}
	if len(out.Result.Value) == 0 {
		return nil // undefined
	}
	if err := json.Unmarshal(out.Result.Value, value); err != nil {
		return fmt.Errorf("%.200s: %w", expression, err)
	}
	return nil
}

// Await waits until an expression is true. While a page loads, no expression has a value.
func (p *Page) Await(expression string) {
	p.b.t.Helper()
	eventually.Until(p.b.ctx, p.b.t, expression, func() (bool, string) {
		yes := false
		err := p.Eval("Boolean("+expression+")", &yes)
		text := ""
		if !yes {
			_ = p.Eval("location.href + ' ' + document.body.innerText", &text) // only for the message
		}
		return yes, fmt.Sprintf("%v %.3000s", err, text)
	})
}

// AwaitText waits until the page shows a text.
func (p *Page) AwaitText(text string) {
	p.b.t.Helper()
	p.Await("document.readyState == 'complete' && document.body.innerText.includes(" + quote(text) + ")")
}

// Text returns the visible text of the page.
func (p *Page) Text() string {
	p.b.t.Helper()
	var text string
	if err := p.Eval("document.body.innerText", &text); err != nil {
		p.b.t.Fatal(err)
	}
	return text
}

// Click clicks the link or button with a text, as soon as it exists and nothing covers it.
func (p *Page) Click(text string) {
	p.b.t.Helper()
	p.press(fmt.Sprintf("[...document.querySelectorAll('a,button,summary,label')].find(e => e.innerText.trim() == %s)", quote(text)), text)
}

// ClickOn clicks the first element of a selector, as soon as it exists.
func (p *Page) ClickOn(selector string) {
	p.b.t.Helper()
	p.press("document.querySelector("+quote(selector)+")", selector)
}

func (p *Page) press(element, name string) {
	p.b.t.Helper()
	var at struct {
		X, Y float64
		Why  string
	}
	eventually.Until(p.b.ctx, p.b.t, name+" to be clicked", func() (bool, string) {
		err := p.Eval(`(() => {
			const e = `+element+`
			if (!e || document.readyState != "complete") return {Why: "is not there"}
			e.scrollIntoView({block: "center"})
			const r = e.getClientRects()[0]
			if (!r || e.disabled) return {Why: "is not shown, or disabled"}
			const x = r.x + r.width / 2, y = r.y + r.height / 2
			const top = document.elementFromPoint(x, y)
			return e.contains(top) || top && top.contains(e) ? {X: x, Y: y, Why: ""} : {Why: "is covered by " + (top && top.outerHTML)}
		})()`, &at)
		text := ""
		_ = p.Eval("document.body.innerText", &text) // only for the message
		return err == nil && at.Why == "", fmt.Sprintf("it %s (%v) on\n%.4000s", at.Why, err, text)
	})
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.must("Input.dispatchMouseEvent", params{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// Type types into the first element of a selector, after its existing content.
func (p *Page) Type(selector, text string) {
	p.b.t.Helper()
	p.ClickOn(selector)
	p.must("Input.insertText", params{"text": text}, nil)
}

// Enter presses the key Enter, on the first element of a selector.
func (p *Page) Enter(selector string) {
	p.b.t.Helper()
	p.Await("(e => { e?.focus(); return document.readyState == 'complete' && e && document.activeElement == e })(document.querySelector(" + quote(selector) + "))")
	p.Press("Enter")
}

// Press presses keys one after the other in the focused element: characters, Enter, Escape and the arrows.
func (p *Page) Press(names ...string) {
	p.b.t.Helper()
	codes := map[string]int{"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40}
	for _, name := range names {
		text, code := name, codes[name]
		switch {
		case name == "Enter":
			text = "\r"
		case code != 0:
			text = ""
		}
		for _, kind := range []string{"keyDown", "keyUp"} {
			p.must("Input.dispatchKeyEvent", params{"type": kind, "key": name, "windowsVirtualKeyCode": code, "text": text}, nil)
		}
	}
}

// Clipboard returns the text in the clipboard. Pages keep their permission to write there.
func (p *Page) Clipboard() string {
	p.b.t.Helper()
	p.b.must("", "Browser.grantPermissions", params{"permissions": []string{"clipboardReadWrite", "clipboardSanitizedWrite"}}, nil)
	var text string
	if err := p.Eval("navigator.clipboard.readText()", &text); err != nil {
		p.b.t.Fatal(err)
	}
	return text
}

// Picture returns a screenshot as WebP.
func (p *Page) Picture() []byte {
	p.b.t.Helper()
	var out struct{ Data []byte }
	p.must("Page.captureScreenshot", params{"format": "webp", "quality": 80}, &out)
	return out.Data
}

// quote formats a text as a JavaScript string.
func quote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // every string has a JSON text
	}
	return strings.ReplaceAll(string(out), "\u2028", "\\u2028")
}
