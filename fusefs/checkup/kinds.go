package checkup

// kind is one thing that can be found.
type kind struct {
	problem   bool   // else it is worth to know, and harmless
	transient bool   // normal for a moment while a daemon serves the backing
	do        string // what to do, a sentence without its full stop
}

const (
	lookThenMove = "Look at it, then move it out of the control folder"
	remountGives = "Nothing to do: the next mount sees to it"
)

// kinds are stable names: scripts depend on them.
var kinds = map[string]kind{
	"unreadable": {problem: true, do: "Find out why it can't be read: a disk error, a missing right"},

	"control-open":    {problem: true, do: "chmod 700 it: what is in it stays"},
	"control-foreign": {problem: true, do: "Run as its owner, or move it away after a look at what is in it"},
	"control-stray":   {problem: true, do: lookThenMove},
	"control-half":    {do: remountGives},
	"format-missing":  {problem: true, do: "Restore that file from a copy; it is never guessed"},
	"format-unknown":  {problem: true, do: "Use a version of airlockfs that knows it, or restore that file from a copy"},
	"format-draft":    {transient: true, do: remountGives},
	"probe-left":      {transient: true, do: remountGives},
	"area-missing":    {do: "Nothing to do: it is made again when it is needed, at the latest by the next mount"},
	"area-not-folder": {problem: true, do: lookThenMove},
	"area-owner":      {problem: true, do: "Give it to the user that the mount runs as (chown)"},
	"area-mode":       {problem: true, do: "Close it to everybody else (chmod 0700)"},

	"registry-stray":       {problem: true, do: lookThenMove},
	"registry-root":        {problem: true, do: "Remove it: the key 0 always means the backing itself"},
	"registry-draft":       {transient: true, do: remountGives},
	"registry-not-symlink": {problem: true, do: "Replace it by a symbolic link to the folder's path"},
	"registry-escapes":     {problem: true, do: "Replace it by a symbolic link to the folder's path, relative to the backing"},
	"registry-missing":     {transient: true, do: "Nothing to do, unless the folder should be there: then make it again"},
	"registry-not-folder":  {problem: true, do: "Move away what is there, and make the folder again"},
	"registry-twice":       {do: "Nothing to do: the folder was removed and made again by hand, and both mean the new one"},

	"place-stray":       {problem: true, do: lookThenMove},
	"place-unparsable":  {problem: true, do: lookThenMove},
	"place-owner":       {problem: true, do: "Give it to the user that the mount runs as (chown)"},
	"place-mode":        {problem: true, do: "Close it to everybody else (chmod 0700)"},
	"place-barrier":     {problem: true, do: lookThenMove},
	"place-unknown-key": {problem: true, transient: true, do: "Take its files out by hand: nothing says which folder they belong to"},
	"place-folder-gone": {problem: true, transient: true, do: "Make the folder again, or take the files out by hand: the next mount puts them into quarantine"},

	"item-folder":            {problem: true, do: lookThenMove},
	"item-irregular":         {problem: true, do: lookThenMove},
	"item-also-public":       {problem: true, transient: true, do: "Compare the two, and remove the private name"},
	"item-twice":             {problem: true, transient: true, do: "Keep the one whose place is right, and remove the other name"},
	"item-owner-dead":        {transient: true, do: remountGives},
	"item-owner-earlier":     {transient: true, do: remountGives},
	"claim-unowned":          {transient: true, do: remountGives},
	"held-alone":             {problem: true, transient: true, do: remountGives},
	"held-overdue":           {transient: true, do: remountGives},
	"quarantine-unexplained": {do: "Look at the file: why it is there is not known any more"},

	"note-unreadable": {problem: true, do: "Remove the attribute user.airlockfs.note; what it said (attempts, origin) is lost"},
	"note-class":      {problem: true, do: "Remove the attribute user.airlockfs.note, or use the version that knows the class"},
	"note-taint":      {problem: true, do: "Remove the attribute user.airlockfs.note after reading its detail"},
	"note-attempts":   {problem: true, do: "Remove the attribute user.airlockfs.note"},
	"note-home":       {problem: true, do: "Take the file out by hand: the name it should go back to is not known"},

	"public-secret":  {problem: true, transient: true, do: "Remove the attribute user.airlockfs.note"},
	"public-claimed": {transient: true, do: "Nothing to do: it is read by nobody, and goes with the file's next claim"},
	"public-control": {do: "Nothing to do, unless it should not be there: it is the control folder of another backing"},
	"public-mount":   {do: "Nothing to do: what is mounted there is not served"},

	"mark-stray":      {problem: true, do: lookThenMove},
	"mark-unparsable": {problem: true, do: "Remove it: whose lock it was is not known, and it is an ordinary file from the next mount on"},
	"mark-gone":       {transient: true, do: remountGives},
	"mark-owner-dead": {transient: true, do: remountGives},

	"tokens-missing": {do: "Nothing, unless the clock was set back: the next mount goes on with larger tokens by the clock"},
	"tokens-stray":   {problem: true, do: "Remove it: tokens go on after the largest number there, and by the clock"},

	"replaced-stray":       {problem: true, do: lookThenMove},
	"replaced-unparsable":  {problem: true, do: lookThenMove},
	"replaced-irregular":   {problem: true, do: lookThenMove},
	"replaced-unknown-key": {transient: true, do: "Nothing to do: it goes when its time is over; only the name of its folder is lost"},
}
