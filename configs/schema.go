package configs

import (
	"time"

	"guard"
)

// The file as it is written. A field of type later is a key whose feature is not
// built yet: it is known, so that it can be refused by its name.
type (
	file struct {
		Mode      mode          `yaml:"mode"`
		Ledger    ledger        `yaml:"ledger"`
		Listen    listen        `yaml:"listen"`
		Group     string        `yaml:"socket_group"`
		TLS       tlsFile       `yaml:"tls"`
		TimeZone  zone          `yaml:"time_zone"`
		Accounts  []account     `yaml:"accounts"`
		Protect   protectFile   `yaml:"protect"`
		Defaults  defaultsFile  `yaml:"defaults"`
		Rules     rulesFile     `yaml:"rules"`
		Busy      busyFile      `yaml:"busy"`
		Ceilings  ceilingsFile  `yaml:"ceilings"`
		Limits    limitsFile    `yaml:"limits"`
		Release   releaseFile   `yaml:"release"`
		Backup    backupFile    `yaml:"backup"`
		Retention time.Duration `yaml:"retention"`
		Signals   signalsFile   `yaml:"signals"`
		Budgets   later         `yaml:"budgets"`
		Exchange  *exchangeFile `yaml:"exchange"`
		Notify    notifyFile    `yaml:"notify"`
	}

	protectFile struct {
		Tags map[string]string `yaml:"tags"`
	}

	defaultsFile struct {
		TTL     time.Duration `yaml:"ttl"`
		OnLimit action        `yaml:"on_limit"`
		Grace   time.Duration `yaml:"grace"`
	}

	rulesFile struct {
		Unregistered     unregisteredFile `yaml:"unregistered"`
		Expiry           expiryFile       `yaml:"expiry"`
		Budget           budgetFile       `yaml:"budget"`
		OrphanVolume     orphanFile       `yaml:"orphan_volume"`
		OrphanSnapshot   orphanFile       `yaml:"orphan_snapshot"`
		OrphanImage      orphanFile       `yaml:"orphan_image"`
		OrphanAddress    orphanFile       `yaml:"orphan_address"`
		OrphanFilesystem orphanFile       `yaml:"orphan_filesystem"`
		PriceChanged     priceChangedFile `yaml:"price_changed"`
		EgressSpike      egressSpikeFile  `yaml:"egress_spike"`

		IdleEmpty    judgementFile `yaml:"idle_empty"`
		IdleResident judgementFile `yaml:"idle_resident"`
		IdleBlind    judgementFile `yaml:"idle_blind"`
		Parked       judgementFile `yaml:"parked"`
		Hung         judgementFile `yaml:"hung"`
		Underused    judgementFile `yaml:"underused"`

		StoppedBilling   stoppedFile      `yaml:"stopped_billing"`
		ProvisioningLong provisioningFile `yaml:"provisioning_long"`

		ProviderReclaim aheadFile        `yaml:"provider_reclaim"`
		BalanceLow      aheadFile        `yaml:"balance_low"`
		RenewsSoon      aheadFile        `yaml:"renews_soon"`
		ChargeMismatch  priceChangedFile `yaml:"charge_mismatch"`
		OffHours        later            `yaml:"off_hours"`
		Custom          later            `yaml:"custom"`
	}

	unregisteredFile struct {
		After time.Duration `yaml:"after"`
		Warn  time.Duration `yaml:"warn"` // another word for after
		Then  action        `yaml:"then"`
		Adopt *adoptFile    `yaml:"adopt"`
		Act   time.Duration `yaml:"act"`
		perRule
	}

	adoptFile struct {
		TTL     time.Duration `yaml:"ttl"`
		OnLimit action        `yaml:"on_limit"`
	}

	ceilingsFile struct {
		TTL    time.Duration `yaml:"ttl"`
		Budget []guard.Money `yaml:"budget"`
	}

	expiryFile struct {
		Warn []time.Duration `yaml:"warn"`
		Then later           `yaml:"then"`
		Act  later           `yaml:"act"`
		perRule
	}

	budgetFile struct {
		Warn []percent `yaml:"warn"`
		// EgressAtMost counts traffic of unknown price at the most that it can be.
		EgressAtMost bool  `yaml:"egress_at_most"`
		Then         later `yaml:"then"`
		Act          later `yaml:"act"`
		perRule
	}

	stoppedFile struct {
		Warn time.Duration `yaml:"warn"`
		Act  time.Duration `yaml:"act"`
		Then action        `yaml:"then"`
		perRule
	}

	// aheadFile is a rule that tells of what is to come.
	aheadFile struct {
		Warn time.Duration `yaml:"warn"`
		Then action        `yaml:"then"`
		Act  later         `yaml:"act"`
		perRule
	}

	provisioningFile struct {
		After time.Duration `yaml:"after"`
		Warn  time.Duration `yaml:"warn"` // another word for after
		Then  action        `yaml:"then"`
		Act   time.Duration `yaml:"act"`
		perRule
	}

	orphanFile struct {
		After time.Duration `yaml:"after"`
		Warn  time.Duration `yaml:"warn"` // another word for after
		Act   time.Duration `yaml:"act"`
		Then  action        `yaml:"then"`
		perRule
	}

	priceChangedFile struct {
		Over percent `yaml:"over"`
		Then action  `yaml:"then"`
		Warn later   `yaml:"warn"`
		Act  later   `yaml:"act"`
		perRule
	}

	// perRule is what each rule takes beside its own keys.
	perRule struct {
		Off    bool          `yaml:"off"`
		Match  *matchFile    `yaml:"match"`
		Remind remind        `yaml:"remind"`
		Grace  time.Duration `yaml:"grace"`
		Tiers  later         `yaml:"tiers"`
	}

	matchFile struct {
		Tags    map[string]string `yaml:"tags"`
		Purpose words             `yaml:"purpose"`
		Owner   words             `yaml:"owner"`
		Account words             `yaml:"account"`
		Kind    words             `yaml:"kind"`
	}

	limitsFile struct {
		PerHour         int  `yaml:"unforeseen_per_hour"`
		Percent         int  `yaml:"unforeseen_percent"`
		ForcedUnprotect bool `yaml:"forced_unprotect"`
	}

	releaseFile struct {
		Verify time.Duration `yaml:"verify"`
	}
)

// later marks a key whose feature is not built yet.
type later struct{}
