package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/airlockfs/airlockfs/backing"
)

func TestFeaturesAreThoseOfTheProbe(t *testing.T) {
	store, lacks, err := openBacking(t.TempDir(), nil, 0)
	require.NoError(t, err)
	defer store.Close()
	for _, l := range lacks {
		assert.Contains(t, features, l.Feature)
	}
}

func TestRequiredFeature(t *testing.T) {
	lacks := []backing.Lack{{Feature: "reflink", Meaning: "Copies take time."}}
	assert.NoError(t, checkRequired("/srv", lacks, nil))
	assert.NoError(t, checkRequired("/srv", lacks, []string{"xattr"}))
	assert.ErrorContains(t, checkRequired("/srv", lacks, []string{"xattr", "reflink"}), "Copies take time.")
	assert.Error(t, checkRequired("/srv", []backing.Lack{{Feature: "probe"}}, []string{"xattr"}), "nothing could be tried")
}
