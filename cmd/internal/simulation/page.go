package simulation

import (
	"errors"
	"html/template"
	"io"
	"strings"

	"pfcswitch/cmd/internal/web"
)

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>pfcswitch {{.Demo}}</title>
<link rel="icon" href="data:,">
<style>
{{.Style}}
.picture { background: #fff; overflow: auto; }
.picture svg { min-width: 40rem; }
pre { font-size: .8rem; overflow-wrap: normal; }
</style>
</head>
<body>
<h1>pfcswitch {{.Demo}}</h1>
<p class="contact {{if .Pass}}good{{else}}bad{{end}}">{{if .Pass}}PASS{{else}}FAIL{{end}}</p>
{{if .Holds}}<div class="picture" tabindex="0" role="region" aria-label="Who held whom">{{.Picture}}</div>
{{end}}<div class="scroll" tabindex="0" role="region" aria-label="Figures"><pre>{{.Text}}</pre></div>
</body>
</html>
`))

// Page writes the report as one HTML page that needs nothing from elsewhere: who held whom as a picture, and the text
// with every port and every hold.
func (r *Report) Page(out io.Writer) error {
	var text, picture strings.Builder
	whole := *r
	whole.all = true
	if err := errors.Join(whole.Text(&text), r.HoldsPicture(&picture)); err != nil {
		return err
	}
	return page.Execute(out, struct {
		*Report
		Style   template.CSS
		Picture template.HTML // texts in it are escaped
		Text    string
	}{r, template.CSS(web.Stylesheet), template.HTML(picture.String()), text.String()})
}
