package api

import (
	"pfcswitch/dataplane/capture"
)

func (f *fake) Tap() *capture.Tap { return &f.tap }

func (f *fake) Interfaces(dst []capture.Interface) []capture.Interface {
	return append(dst, capture.Interface{Port: 0, Name: "p1", Speed: 1e9}, capture.Interface{Port: 1, Name: "p2"})
}
