// Package verdict judges a torture run by what its actors wrote down and what was found in the end. It knows nothing of
// airlockfs: the same journals would convict any filesystem.
//
// What it looks for:
//
//   - torn: a reader got bytes that were not a whole parcel, or saw one before its producer had let it go;
//   - taken by two: two actors surely held one parcel at the same time, or both settled it;
//   - not linearizable: no order of all steps about a parcel explains what each of them said (linear.go);
//   - lost: a parcel whose producer was told that it is delivered is nowhere, and nobody settled it;
//   - in two places, back after it was settled, from nowhere, delivered though its writer failed;
//   - a lock that two held.
//
// A step of which the end is not known, because its actor or the daemon was killed, may have been done or not. It never
// convicts, and where it excuses something that is counted.
//
// Reading order: op.go (steps from lines), case.go (all about one parcel), then a file for each question: torn.go,
// taken.go, linear.go, account.go, locks.go; run.go puts them together.
package verdict
