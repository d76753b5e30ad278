package guard

import "testing"

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"lora 70b":                     "lora 70b",
		" a\r\nb\tc\u2028d ":           "a  b c d",
		"\x1b[31mred\x1b[0m\x00\u009b": "[31mred[0m",
		"invoice\u202egnp.exe\u200f":   "invoicegnp.exe",
		"half \xe4\xb8 <!channel> 模型":  "half \ufffd <!channel> 模型",
		"👩\u200d🔬 \x00":                "👩\u200d🔬",
	} {
		if got := Plain(in); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}
