#!/usr/bin/env bash
# Hand-made faults in the rules, the desk and who inherits: each must be caught by the test that is named with it. They
# are planted one at a time in a scratch copy. Usage: scripts/mutants.sh [NAME…], default: all. Fails if a fault survives,
# does not build, or no longer applies.
set -euo pipefail
cd "$(dirname "$0")/.."
copy=$(mktemp -d "${TMPDIR:-/tmp}/airlockfs-mutants-XXXXXX")
trap 'rm -rf "$copy"' EXIT
chmod 755 "$copy" # tests run the binary as other users
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy" 2>/dev/null || true
cd "$copy"
only=("$@")
bad=0 count=0

wanted() {
	[ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $1 "* ]]
}

# plant FILE OLD NEW replaces a text that must be there exactly once.
plant() {
	OLD=$2 NEW=$3 perl -0777 -pi -e '$n = s/\Q$ENV{OLD}\E/$ENV{NEW}/g; END { exit($n != 1) }' "$1"
}

say() { printf '%-9s %3ss  %-28s %s\n' "$@"; }

# fault NAME FILE OLD NEW LEVEL TEST: LEVEL is a package whose tests must fail, or e2e, or slowrelease.
fault() {
	local name=$1 file=$2 level=$5 test=$6 verdict=killed begun=$SECONDS
	wanted "$name" || return 0
	count=$((count + 1))
	cp "$file" sound.txt
	if ! plant "$file" "$3" "$4"; then
		verdict=MISFIT
	elif ! build "$level" faulty; then
		verdict=NOBUILD
	elif passes "$level" "$test" faulty; then
		verdict=SURVIVED
	fi
	cp sound.txt "$file"
	if [ "$verdict" = killed ] && ! passes "$level" "$test" "sound-${level##*/}"; then
		verdict=UNSOUND # it fails without the fault, too, or is not there
	fi
	say "$verdict" $((SECONDS - begun)) "$name" "$test"
	[ "$verdict" = killed ] || bad=$((bad + 1))
}

# build LEVEL TO builds the binary that the end-to-end tests of a level drive; for the tests of a package it only compiles.
build() {
	case $1 in
	./*) go build ./protocol ./fusefs/... ;;
	*) CGO_ENABLED=0 go build -tags "${1/e2e/}" -o "$2" ./cmd/airlockfs ;;
	esac
}

# passes LEVEL TEST BINARY
passes() {
	case $1 in
	./*) go test -run "$2" "$1" ;;
	*) (cd tests && AIRLOCKFS_TAGS="${1/e2e/}" AIRLOCKFS_BIN="$copy/$3" timeout -s KILL 120 \
		"$copy/suite" -test.failfast -patience 3s -test.run "$2") ;;
	esac >"$copy/test.log" 2>&1 && ! grep -q 'no tests to run' "$copy/test.log"
}

CGO_ENABLED=0 go test -c -o suite ./tests
build e2e sound-e2e
build slowrelease sound-slowrelease

# I1, I2: what is unfinished, or failed, is not shown.
fault publish-killed fusefs/close.go 'case v.Kind == protocol.Killed:' 'case false:' e2e 'TestI2_ABrokenWriterPublishesNothing/KILL'
fault publish-tainted protocol/close.go 'case i.Taint.Kind != NoTaint:
		return tainted(w, i, e)' 'case false:
		return tainted(w, i, e)' ./protocol TestEndsOfHolds
fault any-inheritor-judged fusefs/close.go 'writer || p.ID == h.party.ID {' 'writer || true {' e2e TestI2_AChildThatMerelyInherited
fault short-length-ignored fusefs/close.go 'if b.promised() && ' 'if false && ' e2e 'TestI2_ABrokenWriterPublishesNothing/ftruncate,_then_closed'
fault failed-write-ignored fusefs/io.go 'if err != nil || n < want {' 'if false {' e2e TestI2_AFullDisk
fault temp-seen-by-strangers protocol/file.go '!i.Derived && w.kin(i, e.By) })' '!i.Derived })' ./protocol TestDecideTranscripts
fault node-tells-strangers fusefs/attr.go '	return syscall.ENOENT
}

// mayReach' '	return nil
}

// mayReach' e2e 'TestI1_NoWayRoundAWriter/descriptor_in_proc_stat'
fault status-tells-strangers fusefs/status.go '(d.oversees(uid) || i.UID == uid) {' '(true || i.UID == uid) {' e2e TestI1_UsersSeeNothingHidden
fault parked-for-all-users protocol/file.go 'return waits && i.UID == who.Process.UID' 'return waits' e2e TestI1_ParkedFilesAreTheirUsersOnly
fault temp-not-a-barrier protocol/close.go 'case i.Temp() && !i.InClaim:' 'case false:' ./protocol TestEndsOfHolds
fault exit-not-awaited protocol/close.go 'if i.Owner != 0 {
			return effects(hold(i, BarrierExit' 'if false {
			return effects(hold(i, BarrierExit' ./protocol TestEndsOfHolds
fault exit-status-ignored protocol/end.go 'return v.Kind == Killed || v.Kind == Failed && !i.Match.NonzeroExit' 'return false' ./protocol TestEndsOfHolds
fault quiet-not-renewed protocol/close.go 'if !i.Changed && !i.Until.IsZero() {' 'if !i.Until.IsZero() {' ./protocol TestDecideTranscripts
fault foreign-writer-ignored fusefs/foreign.go 'return open, doubtful(err)' 'return false, doubtful(err)' e2e TestI1_AFileThatAnOutsiderWrites

# I3: one claimant.
fault claim-not-exclusive protocol/open.go 'return met(NotYours, i, "wait until it is settled or given back")' 'return grant(i, AccessClaim)' e2e TestI3_AClaimedNameIsBusy
fault reading-claims-nothing protocol/open.go 'return grant(i, AccessClaim, claim(i, e, i.Name, i.Match, i.Name))' 'return grant(i, AccessView)' ./protocol TestEndsOfHolds
fault observer-claims protocol/open.go 'if e.Observer || !i.Match.Class.Claimed() {' 'if !i.Match.Class.Claimed() {' e2e TestAnObserverReadsWithoutClaiming
fault powerless-claims fusefs/rights.go 'if uid == 0 || ' 'if true || uid == 0 || ' e2e TestWhoMayNotUnlinkReadsWithoutClaiming
fault kin-in-other-sessions protocol/party.go 'of.Process.Session != who.Process.Session || ' '' ./protocol TestKin
fault kin-of-other-users protocol/party.go '!(sameUser || who.Process.UID == 0)' 'false' ./protocol TestKin
fault heir-under-job-control fusefs/caller/heir.go ' || e.party.JobControl {' ' {' ./fusefs/caller TestHeirUnderJobControl
fault heir-of-a-fork fusefs/caller/heir.go 'return e.execed || e.subshellLocked()' 'return true' ./fusefs/caller TestForkThatDoesNotExecHasNoHeir
fault hard-link-listed fusefs/dir.go 'if _, ok := hidden[e.Ino]; ok {' 'if false {' e2e TestI3_ClaimHidesAllNames
fault hard-link-opened fusefs/file.go 'f.Link = i
' '
' e2e TestI3_ClaimHidesAllNames
fault second-writer protocol/open.go 'if o := newest(f, underway); o != nil {' 'if o := newest(f, underway); false {' e2e TestI3_SecondWriterOfAFinalName
fault exclusive-overlooks-hidden protocol/open.go 'o != nil && e.Open.Exclusive {' 'false && e.Open.Exclusive {' e2e TestI3_ExclusiveCreate
fault rename-over-writer protocol/rename.go 'if o := otherWriter(w, t, e); o != nil {' 'if o := otherWriter(w, t, e); false {' e2e TestI3_SecondWriterOfAFinalName
fault recovery-robs-the-living protocol/recover.go 'if i.Owner == 0 {
			return settleClaim' 'if true {
			return settleClaim' ./protocol TestRecover
fault living-not-found-again fusefs/recover.go 'Revive(process); alive {' 'Revive(process); alive && process.PID != p.Owner.PID {' e2e TestI4_RestartLeavesEachItem
fault heir-not-found-again fusefs/recover.go 'Revive(process); alive {' 'Revive(process); alive && process.PID == p.Owner.PID {' e2e TestI3_AClaimWhoseOwnerEndsUnseen

# I4: nothing is lost, and in two places.
fault attempts-not-counted protocol/end.go 'x.Next.Attempts += attempts' 'x.Next.Attempts += 0 * attempts' ./protocol TestEndsOfHolds
fault closed-note-ignored fusefs/recover.go 'closed: note.Closed,' 'closed: false,' e2e TestI4_RestartLeavesEachItem
fault home-note-ignored fusefs/recover.go 'home != nil && p.State == protocol.Claimed &&' 'home != nil && false &&' e2e TestI4_RestartLeavesEachItem
fault restart-publishes-open-files protocol/recover.go '	x := quarantine(i, e.At)
	if i.Temp() {' '	x := public(i, i.Name, i.Match, e.At)
	if i.Temp() {' ./protocol TestRecover
fault older-not-lifted protocol/decision.go 'if d.Refuse == nil {' 'if false {' ./protocol TestDecideTranscripts
fault older-written-over protocol/end.go 'if home != nil && home.Public != nil {' 'if false {' ./protocol TestDecideTranscripts
fault replaced-not-kept fusefs/replaced.go 'return d.retainLocked(over)' 'return retained{}' e2e TestI4_SecondRenameOntoOneName
fault publish-over-outsider fusefs/place.go 'return to, backing.NoReplace, err' 'return to, backing.Replace, err' e2e TestI4_AFileThatAnOutsiderPutsThere
fault alias-dies-with-ln fusefs/owner.go 'if end.Heir != nil {
		f.Bequeath' 'if false {
		f.Bequeath' e2e TestI7_AnAliasGoesToTheHeir
fault folder-with-claims-goes fusefs/folder.go 'if i.State != protocol.Parked && i.State != protocol.Abandoned {' 'if false {' e2e TestI4_FoldersWithPrivateItemsStay
fault work-goes-back protocol/end.go 'v.Kind == Clean && !i.Temp() {
		to = i.Name' 'false {
		to = i.Name' ./protocol TestDecideTranscripts
fault killed-heir-inherits protocol/end.go 'if v.Kind != Killed && e.Heir != nil {' 'if e.Heir != nil {' ./protocol TestEndsOfHolds
fault late-bytes-not-durable fusefs/close.go '_ = d.syncBytes(h)' '_ = h' ./fusefs TestI4_BytesAreDurable
fault moved-bytes-not-durable fusefs/saved.go 'if n.bytes.saved.owing() {' 'if false {' ./fusefs TestI4_BytesAreDurable
fault copied-bytes-not-durable fusefs/io.go 'err = f.CopyFrom(h.base, st.Size)
		h.node.bytes.saved.changed()' 'err = f.CopyFrom(h.base, st.Size)' ./fusefs TestI4_BytesThatWereCopied
fault sync-tried-again fusefs/saved.go 's.lost.Store(&err)' '_ = err' ./fusefs TestASyncThatFailed
fault sync-too-late fusefs/foldersync.go 'last != nil && !last.begun' 'last != nil' ./fusefs TestOneSyncIsForAll
fault name-not-durable fusefs/perform.go 'if lasts(&n.bytes.item, &x.Next) {' 'if false {' ./fusefs TestI4_NamesAreDurable
fault settled-not-durable fusefs/perform.go 'd.oweLocked(x.At, at.Folder, false)' '_ = at' ./fusefs TestI4_NamesAreDurable
fault name-not-awaited fusefs/await.go 'return x.done' 'return nil' ./fusefs TestI4_WhoLooksWaits
fault slots-shared fusefs/slots.go 'return !taken' 'return taken || true' ./fusefs TestSlots

# I4: a crash, or a power cut, at any step.
fault home-forgotten-too-early fusefs/note.go 'if err == nil && note.Home == "" {' 'if false {' ./fusefs 'TestCrash$'
fault lock-note-cleared-too-early fusefs/note.go 'if i.State == protocol.Public && i.Ghost && moves(i, next) {' 'if false {' ./fusefs 'TestCrash$'
fault drafts-after-the-folder fusefs/folder.go '	drafts, err := d.draftKeysLocked(n, to)' '	var drafts []draft
	var err error
	defer func() {
		if err == nil {
			drafts, _ = d.draftKeysLocked(n, to)
			d.settleDraftsLocked(drafts)
		}
	}()' ./fusefs 'TestCrash$'
fault older-lifted-in-recovery fusefs/recover.go 'd.lifting = true' 'd.lifting = false' ./fusefs 'TestCrash$'
fault replaced-name-left fusefs/recover.go 'if still {' 'if still && false {' ./fusefs 'TestCrash$'
fault homeless-left fusefs/recover.go 'if r.homeless {' 'if false {' ./fusefs 'TestPowerCut$'
fault key-not-synced fusefs/registry.go 'err = d.syncKeyLocked(at)' 'err = nil' ./fusefs 'TestPowerCut$'
fault moved-folder-not-synced fusefs/folder.go 'err = d.syncNamesLocked(a.Folder, b.Folder)' 'err = nil' ./fusefs 'TestPowerCut$'
fault reopening-not-synced fusefs/open.go 'if was && !complete' 'if false && was && !complete' ./fusefs 'TestPowerCut$'

# I5, I6: fenced, and no lost update.
fault fence-missing fusefs/fence.go 'if taken {' 'if false {' e2e TestI5_TheDescriptorOfAFormerClaimant
fault base-not-checked protocol/close.go 'if i.Base != 0 && (f.Public == nil || f.Public.ID != i.Base) {' 'if false {' ./protocol TestDecideTranscripts
fault late-close-not-told fusefs/close.go 'if i.Base == 0 || !h.wrote.Load() || i.State == protocol.Gone {' 'if true {' e2e TestI6_AppendWhoseBaseWasClaimed
fault append-splits protocol/open.go 'return met(Busy, c, "wait until it is settled, or replace it with O_TRUNC")' 'return Decision{}' e2e TestI4_AppendToAClaimedItem
fault base-not-copied fusefs/io.go 'f.CopyFrom(h.base, st.Size)' 'f.CopyFrom(h.base, 0*st.Size)' e2e TestI6_AppendToAPublicItem
fault replaced-under-readers fusefs/lookup.go 'if b.frozen {' 'if false {' e2e TestI1_OldVersionIsReadable

# I7: at once.
fault dead-owner-not-settled fusefs/settle.go 'if d.ownerGoneLocked(i) {' 'if false {' e2e 'TestI7_WhoLooksAtOnceSeesIt/claim-kill'
fault release-not-awaited fusefs/await.go 'n != nil && n.bytes.releasing != nil {
			return n.bytes.releasing' 'n != nil && n.bytes.releasing != nil {
			return nil' slowrelease 'TestI7_WhoLooksAtOnceSeesIt/close'
fault lock-not-awaited fusefs/await.go 'return n.bytes.releasing
		}
		return nil
	})' 'return nil
		}
		return nil
	})' slowrelease 'TestI7_WhoTriesAtOnceGetsALockThatIsFree/lock-close$'
fault redirect-missing fusefs/lookagain.go 'case stale(err), ' 'case ' e2e TestI4_AFileThatIsReplacedAllTheTime
fault pin-missing fusefs/lookup.go 'd.pinLocked(r, n, p)' '_ = r' ./fusefs TestSecondLookUpSettles
fault open-under-another-name fusefs/open.go 'case moved:' 'case moved && false:' ./fusefs TestOpenIsAboutTheName

# I6: state files.
fault stale-not-seen protocol/base.go 'return b.Version != f.Public.ID' 'return false' e2e TestI6_WhoHasReadAnEarlierVersionIsRefused
fault absence-forgotten protocol/base.go 'return b.Own || b.Seen || b.Looks > 1' 'return false' e2e TestI6_WhoFoundNoneDoesNotWriteOverWhatCame
fault base-always-moves protocol/base.go 'b.Version != 0 && (was == 0 || b.Version == was):' 'b.Version != 0:' e2e TestI6_AppendingIsNeverStale
fault look-is-a-reading protocol/base.go 'b.Seen = true' 'b.Version = f.Public.ID' e2e TestI6_WhoFoundNoneDoesNotWriteOverWhatCame
fault base-not-kept fusefs/base.go 'd.keepLocked(n, by)' '_ = n' ./fusefs TestAKnownVersionKeepsItsNumber
fault base-outlives-its-job fusefs/base.go 'if !lives {' 'if false {' ./fusefs TestWhatJobsKnewIsForgottenWithThem
fault late-not-told fusefs/base.go 'd.taintLocked(n, f.Late(n.bytes.item.UID))' 'return nil' e2e TestI6_AVersionReplacedOutsideIsNoticed
fault shorter-unread fusefs/base.go '!f.Stale(n.bytes.job) {
		return err
	}
	return d.refuseHandleLocked(h, "truncate"' 'true {
		return err
	}
	return d.refuseHandleLocked(h, "truncate"' e2e 'TestI6_TheBaseFollowsTheJob/truncate'
fault turn-for-all protocol/turn.go 'return f.Serial() && f.Turn != nil' 'return false && f.Turn != nil' e2e TestI6_CountersInALoopCountExactly
fault line-jumped fusefs/turn.go 'o.number < first.number' 'o.number > first.number' e2e TestI6_TheTurnGoesRoundInLine
fault circle-waited-for fusefs/turn.go 'c.Circle = c.Circle || ' 'c.Circle = false && ' e2e TestI6_TwoThatHoldWhatTheOtherWants
fault turn-before-the-close fusefs/turn.go 'return !d.writingLocked(f, time.Time{})' 'return true' slowrelease TestI6_ATurnLastsUntilWhatWasWrittenIsCurrent
fault turn-never-lapses fusefs/turn.go '!until.IsZero() && now.After(until)' 'false' e2e TestI6_AStuckReaderKeepsOthersWaitingForSoLong
fault zombies-work fusefs/caller/job.go "st.state != 'Z' && " '' ./fusefs/caller TestAJobOfZombiesDoesNotWork

# Operators' orders.
fault orders-by-strangers fusefs/order.go 'i.Private() && (c.Oversees || i.UID == c.By.Process.UID)' 'i.Private()' e2e TestOrdersInEachStateByEachUser/stranger
fault orders-lend-rights fusefs/order.go 'c.Powerless = !c.Oversees && ' 'c.Powerless = false && ' e2e TestOrdersLendNoRights
fault order-of-another fusefs/control.go 'case o.uid != in.Uid:' 'case false:' e2e TestAnOrderIsWhoseWritesIt
fault order-over-a-folder fusefs/order.go '!errors.Is(err, syscall.ENOENT) {' 'false {' e2e TestAnotherNameMustBeFree
fault fence-attributes fusefs/attr.go 'err = d.fencedLocked(n, p, "change attributes")' 'err = nil' e2e TestI5_WhatAFormerClaimantCanDo
fault within-a-lost-claim protocol/end.go 'd.Effects = append(lostWithin(w, i, e), d.Effects...)' '' e2e TestI5_WhatAFormerClaimantCanDo
fault former-of-a-newer-version protocol/former.go 'left = over.Former' 'left = nil' e2e TestI5_WhatAFormerClaimantCanDo
fault former-forgotten fusefs/note.go 'i.Former = d.formersOf(note.Former)' '' e2e TestI5_ARestartRemembersFormerClaimants
fault token-again fusefs/token.go 'd.tokens.last = d.tokens.block * tokenBlock' 'd.tokens.last = 0' e2e TestI5_TokensGrowWithEachClaim
fault clock-of-the-day fusefs/clock.go 'return now.Add(left)' 'return end' ./fusefs TestAClockSetBack
fault release-without-fence fusefs/fence.go ' || c.Op == protocol.OpOrderRelease' '' e2e TestI5_WhoseClaimIsReleased
fault former-claimant-replaces protocol/rename.go 't != nil && w.former(w.Target, t, e.By) {' 'false && t != nil {' e2e TestI5_WhoseClaimIsReleased
fault claim-over-close-not-told fusefs/close.go 'case wrote && i.Taint.Kind == protocol.TaintBase:' 'case false:' e2e TestI5_WhatWasWrittenInAReleasedClaim
fault published-while-written protocol/order.go 'if !i.Closed() {' 'if false {' ./protocol TestWalk
fault requeued-taint-stays protocol/order.go 'sound.Taint, sound.Attempts, sound.Match = Taint{}, 0, f.Match' 'sound.Attempts, sound.Match = 0, f.Match' ./protocol TestDecideTranscripts

# Locks.
fault lock-queue-overtaken protocol/lockqueue.go 'if first < 0 || want.Ahead' 'if true || want.Ahead' ./protocol TestNewcomersStandInLine
fault deadlock-not-seen fusefs/lock.go '&& protocol.Deadlock(' '&& false && protocol.Deadlock(' e2e TestI8_PosixCycle
fault lock-outlives-descriptor fusefs/lockclose.go 'd.wakeLocked(h.node, l.CloseHandle(h.id))' '_ = l' e2e 'TestI7_WhoTriesAtOnceGetsALockThatIsFree/lock-close'
fault lock-binds-nobody protocol/lockbind.go 'return !own && h.strangers(' 'return !own && false && h.strangers(' ./protocol 'TestWalk$'
fault lock-is-no-bar-to-rename protocol/rename.go 'w.removable(i, e), w.removable(w.Target.Public, e)' 'w.removable(i, e)' e2e TestI3_TheLawOfLocks
fault lock-does-not-keep-back protocol/close.go 'case !w.publishable(f, i, e):' 'case false:' e2e TestI3_AVersionWaits
fault lock-list-of-each-version fusefs/locklist.go 'joins(n.bytes, over.bytes.locks)' '_ = list' e2e TestI3_VersionsOfAFileShare
fault lock-kinds-apart fusefs/lockbind.go 'n.bytes.locks.Strangers = d.strangersLocked' '_ = n' e2e TestI3_FlockAndFcntl
fault lock-of-a-reader fusefs/lockfile.go 'if writes || d.mayBindLocked' 'if true || writes || d.mayBindLocked' e2e TestI8_WhoMayNotWrite
fault truncation-not-put-off fusefs/lockwrite.go 'h.node.bytes.fresh == nil && d.writeMet' 'false && d.writeMet' e2e TestI8_TruncatingALocked
fault open-not-in-line fusefs/opening.go 'd.lineUpLocked(o, c)' '' e2e TestI7_AnOpenIsNotStarved
fault lock-file-binds-nobody protocol/lockfile.go 'h.binds(w, e, e.By) {' 'false && h.binds(w, e, e.By) {' e2e TestI3_AnOpenWaitsForTheLockFile
fault lock-not-shown-outside fusefs/lockmirror.go '_ = f.Flock(how)' '_ = how' e2e TestI8_LocksAreSeenInTheBacking
fault locked-version-stays-old fusefs/lock.go 'if ok {
		d.newestLocked(h)' 'if false {
		d.newestLocked(h)' e2e TestI6_WhoLocksTheFileItself
fault lock-free-before-publication fusefs/close.go 'if h.kind() != writeHandle {
		d.closeLocksLocked(h)' 'if true {
		d.closeLocksLocked(h)' e2e TestI6_WhoLocksTheFileItself
fault open-file-lock-mistaken fusefs/lockkind.go 'if d.Callers.OpenFileLock(r.tid)' 'if false && d.Callers.OpenFileLock(r.tid)' e2e TestI8_LocksAreThose
fault mark-of-a-stranger protocol/mark.go 'm != nil && w.strange(m, e)' 'false' e2e TestI3_AStrangerTakesNoMark
fault mark-of-the-failed protocol/mark.go ', end.Verdict.Kind == Failed' '' e2e TestI7_AMarkStaysIf
fault mark-of-pid-1 fusefs/caller/named.go 'level == 0 && number <= 1' 'false' ./fusefs/caller TestWhoIsNamed
fault mark-forgotten fusefs/markrecord.go 'd.Store.SymlinkOwn(text, recordOfMark(d.marks.last))' 'error(nil)' e2e TestI3_AMarkSurvives
fault mark-of-a-copy fusefs/markkept.go 'return empty, nil' 'return true, nil' e2e TestI4_ACopyThatFails
fault mark-inherited fusefs/caller/markend.go 'if sameSession &&' 'if false && sameSession &&' e2e TestI3_WhatAPersonLocks
fault mark-name-remembered fusefs/mark.go '		return 0
	}
	return folderTimeout' '	}
	return folderTimeout' e2e TestI7_AMarkGoesWithWhoIsKilled/mkdir_in
fault mark-in-a-lock protocol/mark.go 'return []*Mark{w.File.Mark, w.File.Within}' 'return []*Mark{w.File.Mark}' e2e TestI8_WhoReadsAPid
fault records-let-through protocol/use.go 'if !u.meets(k) {' 'if true {' e2e TestI3_RecordsLockedBind
fault records-under-way fusefs/records.go 'u.now.Lock()
	stale := u.cached.Swap(false)
	u.now.Unlock()' 'stale := u.cached.Swap(false)' e2e TestI3_ALockOfRecordsWaits
fault records-cached fusefs/records.go 'd.stale(h.node.id)' '_ = stale' e2e TestI3_RecordsAreNotReadThroughMappings
fault records-in-the-holders-cache protocol/use.go 'return len(h.Holders) > 0' 'return false' e2e TestI3_RecordsDoNotLeak
fault records-emptied fusefs/open.go 'd.mayEmptyLocked(h, flags)' 'error(nil)' e2e TestI3_RecordsLockedBind
fault records-appended fusefs/records.go 'return uint64(size), uint64(size+int64(len(data))) - 1' 'return 0, 0' e2e TestI8_RecordsBeside
fault records-readers-lock-out fusefs/records.go 'h.Holders = nil' '' e2e TestI3_RecordsAreLockedByWho
fault records-by-another-name protocol/rename.go '(a == ClassRecords) == (b == ClassRecords)' 'true' e2e TestI3_RecordsHaveNoNames
fault records-open-file fusefs/records.go 'r.lock.Kind == protocol.Posix &&' 'false &&' e2e TestI3_RecordsLockedByAnOpenFile
fault records-mapped-before fusefs/records.go 'if o.records == nil {' 'if false {' e2e TestI3_RecordsThatCame

[ "$count" -gt 0 ] || { echo "mutants: none is called ${only[*]}" >&2; exit 1; }
[ "$bad" = 0 ] || { echo "mutants: $bad of $count were not caught" >&2; exit 1; }
echo "mutants: all $count were caught"
