package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"guard"
	"guard/store"
	"guard/store/bolt"
	"guard/store/storetest"
)

// The test binary runs itself as a process that holds or writes a ledger.
const (
	childEnv  = "GUARD_BOLT_TEST_CHILD"
	ledgerEnv = "GUARD_BOLT_TEST_LEDGER"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "hold":
		holdLedger(os.Getenv(ledgerEnv))
	case "write":
		writeLedger(os.Getenv(ledgerEnv), false)
	case "restore":
		restoreLedger(os.Getenv(ledgerEnv))
	case "write and compact":
		writeLedger(os.Getenv(ledgerEnv), true)
	default:
		os.Exit(m.Run())
	}
}

// child starts this binary in a mode; its lines come from the reader. It is
// killed at the end of the test at the latest.
func child(t *testing.T, mode, path string) (*exec.Cmd, *bufio.Reader, io.Closer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+mode, ledgerEnv+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewReader(out), in
}

// holdLedger keeps a ledger open until its standard input ends.
func holdLedger(path string) {
	b, err := bolt.Open(context.Background(), path, bolt.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = b.Close()
}

const crashWriters = 4

// writeLedger counts up in several goroutines and prints each count once it is
// acknowledged, if told so with one compaction after the other.
func writeLedger(path string, compact bool) {
	ctx := context.Background()
	b, err := bolt.Open(ctx, path, bolt.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := store.Open(ctx, b, storetest.At)
	if err != nil {
		fmt.Println(err)
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for compact {
			if err := b.Compact(ctx); err != nil {
				fmt.Println(err)
				return
			}
		}
	})
	for i := range crashWriters {
		wg.Go(func() {
			for {
				var n int
				err := l.Update(ctx, func(tx *store.Tx) error {
					name := strconv.Itoa(i)
					if _, err := tx.Value(name, &n); err != nil {
						return err
					}
					n++
					filler := strings.Repeat("x", n*37%3000)
					return errors.Join(tx.SetValue(name, n), tx.SetValue("filler "+name, filler),
						tx.Journal(guard.JournalEntry{Subject: name, Text: strconv.Itoa(n)}))
				})
				if err != nil {
					fmt.Println(err)
					return
				}
				_, _ = os.Stdout.WriteString(fmt.Sprintf("%d %d\n", i, n))
			}
		})
	}
	wg.Wait()
}

// Whatever was acknowledged before a kill -9 is there after it, all of each
// update or nothing, again and again on the same file.
func TestKilled(t *testing.T) {
	for _, mode := range []string{"write", "write and compact"} {
		t.Run(mode, func(t *testing.T) { t.Parallel(); killed(t, mode) })
	}
}

func killed(t *testing.T, mode string) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ledger.db")
	for round, lines := range []int{1, 7, 40, 83, 150} {
		var acknowledged [crashWriters]int
		cmd, out, _ := child(t, mode, path)
		for seen := 0; ; seen++ {
			if seen == lines {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			line, err := out.ReadString('\n') // after the kill: what was still in the pipe
			if err != nil {
				break
			}
			var i, n int
			if _, err := fmt.Sscanf(line, "%d %d\n", &i, &n); err != nil {
				t.Fatalf("round %d: the child says %q", round, line)
			}
			acknowledged[i] = n
		}
		_ = cmd.Wait()

		l := storetest.Ledger(t, open(t, path, bolt.Options{}))
		err := l.View(ctx, func(v *store.View) error {
			for i, least := range acknowledged {
				var n int
				if _, err := v.Value(strconv.Itoa(i), &n); err != nil {
					return err
				}
				if n < least || n > least+1 && least > 0 {
					t.Errorf("round %d: writer %d was told %d, the ledger has %d", round, i, least, n)
				}
				entries, err := v.JournalOf(strconv.Itoa(i), 0)
				if err != nil {
					return err
				}
				if len(entries) != n {
					t.Errorf("round %d: writer %d counted %d and wrote %d journal entries", round, i, n, len(entries))
				}
			}
			return nil
		})
		if err := errors.Join(err, l.Check(ctx), l.Close(), bolt.Verify(ctx, path)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// Another process is named, by its number and its command.
func TestLockedByAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	cmd, out, in := child(t, "hold", path)
	if line, err := out.ReadString('\n'); err != nil || line != "open\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	name := filepath.Base(os.Args[0])
	_, err := bolt.Open(context.Background(), path, bolt.Options{LockTimeout: 20 * time.Millisecond})
	wantError(t, err, guard.ErrLocked, path, fmt.Sprintf("PID %d", cmd.Process.Pid), name[:min(15, len(name))], "stop that one") // the kernel keeps 15 bytes

	// One that waits gets it as soon as the other one is gone.
	opened := make(chan error, 1)
	go func() {
		b, err := bolt.Open(context.Background(), path, bolt.Options{})
		if err == nil {
			err = b.Close()
		}
		opened <- err
	}()
	if err := errors.Join(in.Close(), cmd.Wait(), <-opened); err != nil {
		t.Error(err)
	}
}

// The note of a killed process does not mislead.
func TestHolderNoteIsStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	open(t, path, bolt.Options{})
	if err := os.WriteFile(path+".holder", []byte("1 init\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := bolt.Open(context.Background(), path, bolt.Options{LockTimeout: time.Millisecond})
	wantError(t, err, guard.ErrLocked, fmt.Sprintf("PID %d", os.Getpid()))
}
