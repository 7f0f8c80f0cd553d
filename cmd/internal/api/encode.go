package api

import (
	"encoding/json"
	"io"
	"reflect"
)

// WriteJSON writes the document that v points to with indentation. A nil slice is written as an empty array, never as
// null.
func WriteJSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// WriteJSONLine writes the document that v points to in a single line.
func WriteJSONLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	makeArrays(reflect.ValueOf(v))
	enc := json.NewEncoder(w)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// makeArrays replaces nil slices in v by empty ones. v has to be a pointer.
func makeArrays(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			makeArrays(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				makeArrays(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			makeArrays(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			makeArrays(v.Index(i))
		}
	}
}
