package dataplane

import "fmt"

// regret notes what failed when the configuration was in force already: that cannot be taken back, so it is no error of
// the change.
func (r *Runner) regret(t *portTask, what string, err error) {
	if err != nil {
		r.Note(Event{Kind: EventPort, Port: t.cfg.Name, Priority: -1, Text: fmt.Sprintf("%s: %v", what, err)})
	}
}

// SetMAC gives port number i, whose interface has another address now, that address.
func (r *Runner) SetMAC(i int, mac [6]byte) error {
	return r.Do(func(sw *Switch) error {
		_, err := sw.SetMAC(i, mac, Now())
		if t := r.tasks[i]; t != nil && err == nil {
			t.cfg.MAC = mac
		}
		return err
	})
}
