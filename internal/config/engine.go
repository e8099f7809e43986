package config

import "log/slog"

// Metrics says where the process shows its state.
type Metrics struct {
	// Listen is host:port for /metrics, /healthz and /readyz; "" turns them off. Defaults to 127.0.0.1:9464.
	Listen string `jsonschema:"pattern=^(.*:[0-9]+)?$,default=127.0.0.1:9464" yaml:"listen"`
}

// Log says what is logged.
type Log struct {
	// Level is the least urgent level that is logged: debug, info, warn or error. Defaults to info.
	Level LogLevel `jsonschema:"enum=debug,enum=info,enum=warn,enum=error,default=info" yaml:"level"`
}

// Slog gives the level as the standard library has it.
func (l LogLevel) Slog() slog.Level {
	switch l {
	case LogDebug:
		return slog.LevelDebug
	case LogWarn:
		return slog.LevelWarn
	case LogError:
		return slog.LevelError
	case LogInfo:
	}
	return slog.LevelInfo
}

// Engine tunes the process: how much at once, how long, how often.
type Engine struct {
	// Instance names this process in its group and its transactions, so that a restart takes over from its predecessor at once. Two processes of one group need two names; control is taken. Defaults to the host name; where another process of the group has that on this host, to HOST-2 and so on.
	Instance string `jsonschema:"pattern=^[a-zA-Z0-9._-]*$,maxLength=200" yaml:"instance"`
	// Static keeps the group membership of an instance that is stopped for session_timeout: its partitions wait for it instead of moving. It needs an instance name that is stable. Defaults to false.
	Static bool `jsonschema:"default=false" yaml:"static"`
	// Concurrency is how many records are worked on at once. Defaults to 64.
	Concurrency int `jsonschema:"minimum=1,maximum=10000,default=64" yaml:"concurrency"`
	// CommitInterval is how long finished results wait for others before their transaction begins. Defaults to 10ms.
	CommitInterval Duration `jsonschema:"default=10ms" least:"0s" most:"1m" yaml:"commit_interval"`
	// TransactionTimeout is after what time the broker gives up a transaction that nobody ends. Only finished work is inside, so it is short. Defaults to 10s.
	TransactionTimeout Duration `jsonschema:"default=10s" least:"1s" most:"15m" yaml:"transaction_timeout"`
	// SessionTimeout is after what time without a sign of life the group gives the partitions to others. Defaults to 45s.
	SessionTimeout Duration `jsonschema:"default=45s" least:"1s" most:"30m" yaml:"session_timeout"`
	// MaxHeldRecords is how many records may wait in memory, over all partitions. Defaults to 20000.
	MaxHeldRecords int `jsonschema:"minimum=1,maximum=100000000,default=20000" yaml:"max_held_records"`
	// MaxHeldBytes is how many bytes of records, decompressed, may wait in memory, over all partitions. Defaults to 67108864 (64 MiB).
	MaxHeldBytes int `jsonschema:"minimum=1024,default=67108864" yaml:"max_held_bytes"`
	// HandlerTimeout is how long one attempt at one record may take. Defaults to 60s.
	HandlerTimeout Duration `jsonschema:"default=60s" least:"1ms" most:"1h" yaml:"handler_timeout"`
	// ShutdownTimeout is within what time after SIGTERM the process ends, whatever hangs; attempts that run have about half of it to finish. Defaults to 30s.
	ShutdownTimeout Duration `jsonschema:"default=30s" least:"2s" most:"1h" yaml:"shutdown_timeout"`
}
