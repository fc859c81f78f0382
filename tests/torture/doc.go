// Command torture has many programs hand over parcels through one mount for a while, in every way they know, has them and
// the daemon killed meanwhile, fills the disk, and then asks where each parcel is. See docs/torture.md.
//
// Reading order: package actor (who takes part), driver.go (what happens to them), stage.go, daemon.go and crew.go (where,
// and by whom), final.go (what is left), package verdict (what is wrong with it), report.go (how that is told).
//
// The choices follow from the seed; when which process runs does not, so a seed makes a run likely to be like another.
package main
