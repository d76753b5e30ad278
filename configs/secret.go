package configs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"guard"
)

// maxSecret bounds what is read of a secret's file; a private key in PEM is
// under 4 KiB.
const maxSecret = 64 << 10

const secretForm = "write a secret as {env: NAME} or {file: PATH}, never the secret itself"

// secret reads {env: NAME} or {file: PATH}. No message repeats what stands
// there: it may be the secret itself, put in the wrong place.
func (d *decoder) secret(e entry, v reflect.Value, path string) {
	entries, ok := d.entries(e, path, "{env: NAME} or {file: PATH}, never a secret itself")
	if !ok {
		return
	}
	if len(entries) != 1 || !slices.Contains([]string{"env", "file"}, entries[0].key) {
		d.refuse(e.line, path, "%s", secretForm)
		return
	}
	var from string
	x := entries[0]
	before := len(d.problems)
	d.value(x, reflect.ValueOf(&from).Elem(), path+"."+x.key)
	if len(d.problems) > before {
		return
	}
	var value string
	var err error
	if d.rehearse {
		value = "rehearsed"
	} else if x.key == "env" {
		value, err = d.fromEnv(from)
	} else {
		value, err = fromFile(d.path(from))
	}
	value = strings.TrimRight(value, "\r\n")
	switch {
	case err != nil:
		d.refuse(x.line, path, "%v", err)
	case strings.TrimSpace(value) == "":
		d.refuse(x.line, path, "the secret is empty")
	case strings.ContainsFunc(value, unicode.IsControl):
		d.refuse(x.line, path, "the secret has more than one line, or control characters")
	default:
		v.Set(reflect.ValueOf(guard.NewSecret(value)))
	}
}

// envName is what a variable is called by custom; another name is not repeated.
var envName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,63}$`)

func (d *decoder) fromEnv(name string) (string, error) {
	v, ok := d.env(name)
	switch {
	case ok:
		return v, nil
	case envName.MatchString(name):
		return "", errors.New("the environment variable " + name + " is not set")
	}
	return "", errors.New("the environment variable named here is not set")
}

func fromFile(path string) (string, error) {
	// Opening a pipe that nobody writes to would wait for ever.
	switch st, err := os.Stat(path); {
	case err != nil:
		return "", fileError(err)
	case !st.Mode().IsRegular():
		return "", errors.New("the secret's file is not a plain file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fileError(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return "", fileError(err)
	case len(b) > maxSecret:
		return "", errors.New("the secret's file is larger than 64 KiB")
	}
	return string(b), nil
}

// fileError leaves out the path that an *fs.PathError repeats.
func fileError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the secret's file does not exist")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("the secret's file may not be read by this user")
	}
	return errors.New("the secret's file cannot be read")
}
