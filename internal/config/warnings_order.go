package config

const (
	modePath  = "ordering.mode"
	keepPath  = "ordering.versions.keep"
	limitPath = "ordering.versions.max_keys"
)

// orderWarnings speaks of what is legal and leaves less of an order than one might think (docs/delivery.md).
func orderWarnings(cfg *Config, warn warner) {
	if cfg.Ordering.Mode == OrderingNone {
		unorderedWarnings(cfg, warn)
		return
	}
	if cfg.Source.Version != "" {
		versionedWarnings(cfg, warn)
	} else {
		versionsUnused(cfg, warn, "no property orders the events, the source offset does, and nothing older comes after something newer", "name it with source.version, or remove it")
	}
	if cfg.Source.NullKeys == NullKeysAccept {
		warn("source.null_keys", "accept: records without a key are in no order, and an older one of a feature can take effect after a newer one",
			"give every record the id of its feature as its key, and remove it")
	}
	if cfg.Delivery == DeliveryAtLeastOnce {
		warn("delivery", "at_least_once: after a crash or a rebalance some events are delivered again, and older ones then stand in the output after newer ones",
			"set delivery: exactly_once where the cluster has transactions, or let readers compare switchback-source")
	}
}

// unorderedWarnings speaks of keys that ask for an order that ordering.mode does not keep.
func unorderedWarnings(cfg *Config, warn warner) {
	if cfg.Source.Version != "" {
		warn(modePath, "none: versions are not compared, so an older version can take effect after a newer one",
			"set ordering.mode: latest_wins, or remove source.version")
	}
	versionsUnused(cfg, warn, "with ordering.mode: none versions are not compared", "set ordering.mode: latest_wins, or remove it")
}

func versionsUnused(cfg *Config, warn warner, why, fix string) {
	if cfg.Ordering.Versions.Keep != KeepVersionsAlways {
		warn(keepPath, "has no effect: "+why, fix)
	}
	if cfg.Ordering.Versions.MaxKeys != defaultVersionKeys {
		warn(limitPath, "has no effect: "+why, fix)
	}
}

const defaultVersionKeys = 10_000_000

func versionedWarnings(cfg *Config, warn warner) {
	if cfg.Ordering.Mode == OrderingStrict {
		warn(modePath, "strict: events take effect in source order, whatever their version, so an older version takes effect when it comes after a newer one; only replays are held to it",
			"set ordering.mode: latest_wins where the version is to decide, or remove source.version where the source order is")
	}
	if cfg.Ordering.Versions.Keep != KeepVersionsWindow {
		return
	}
	message := "window: which version of a key is the newest is known for dedupe.window (" + cfg.Dedupe.Window.String() + "), so an older version that comes later than that takes effect"
	if cfg.Dedupe.Window == 0 {
		message = "window: with dedupe.window: 0s, which version of a key is the newest is known only while a record of the key waits or is a dead letter, so an older version can take effect after a newer one"
	}
	warn(keepPath, message, "remove it (always is the default), or make dedupe.window longer than events can be late")
}
