package simulation

// Each world runs in its own process, the test binary of this package. These constants are its input and output.
const (
	EnvPlan    = "SWITCHBACK_SIMULATION_PLAN" // the plan, as plan.Plan.Text writes it
	EnvLogs    = "SWITCHBACK_SIMULATION_LOGS" // any value: the engines log to the standard output
	ResultMark = "simulated world: "          // begins the line with the result
)
