package agent

import (
	"errors"
	"os"
	"path/filepath"
)

// replace writes a file that is there whole, as it was or as it is to be, whatever
// happens meanwhile.
func replace(name string, text []byte) error {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
