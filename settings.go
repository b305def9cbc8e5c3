package ambry

import (
	"encoding/json"
	"time"
)

// ScanPermission is the consent of the person to read agents' histories, and
// to write into agents' files.
type ScanPermission string

// The consents.
const (
	PermissionUnset        ScanPermission = "unset"
	PermissionNone         ScanPermission = "none"
	PermissionScan         ScanPermission = "scan_only"
	PermissionScanAndSkill ScanPermission = "scan_and_write_skill"
)

// MayScan reports whether histories may be read.
func (p ScanPermission) MayScan() bool {
	return p == PermissionScan || p == PermissionScanAndSkill
}

// MayWriteSkill reports whether agents' files may be written.
func (p ScanPermission) MayWriteSkill() bool { return p == PermissionScanAndSkill }

// AppSettings are the person's choices about the application.
type AppSettings struct {
	UserMode                    string `json:"userMode" enum:"unset,byok,account"`
	Language                    string `json:"language" enum:"system,zh-CN,en-US"`
	Theme                       string `json:"theme" enum:"system,light,dark"`
	AutoUpdateEnabled           bool   `json:"autoUpdateEnabled"`
	DefaultLaunchMode           string `json:"defaultLaunchMode" enum:"full,pet,last"`
	TaskDoneNotificationEnabled bool   `json:"taskDoneNotificationEnabled"`
	NotificationSoundEnabled    bool   `json:"notificationSoundEnabled"`
	MenuBarIconEnabled          bool   `json:"menuBarIconEnabled"`
}

// DefaultAppSettings returns the settings of a new home.
func DefaultAppSettings() AppSettings {
	return AppSettings{
		UserMode: "unset", Language: "system", Theme: "system", DefaultLaunchMode: "last",
		TaskDoneNotificationEnabled: true, NotificationSoundEnabled: true, MenuBarIconEnabled: true,
	}
}

// AppSettingsPatch changes the application's settings. A nil field stays as it is.
type AppSettingsPatch struct {
	UserMode                    *string `json:"userMode,omitempty" enum:"unset,byok,account" doc:"account needs somebody who is logged in"`
	Language                    *string `json:"language,omitempty" enum:"system,zh-CN,en-US"`
	Theme                       *string `json:"theme,omitempty" enum:"system,light,dark"`
	AutoUpdateEnabled           *bool   `json:"autoUpdateEnabled,omitempty"`
	DefaultLaunchMode           *string `json:"defaultLaunchMode,omitempty" enum:"full,pet,last"`
	TaskDoneNotificationEnabled *bool   `json:"taskDoneNotificationEnabled,omitempty"`
	NotificationSoundEnabled    *bool   `json:"notificationSoundEnabled,omitempty"`
	MenuBarIconEnabled          *bool   `json:"menuBarIconEnabled,omitempty"`
}

// Apply returns s with the given fields of p.
func (p AppSettingsPatch) Apply(s AppSettings) AppSettings {
	set(&s.UserMode, p.UserMode)
	set(&s.Language, p.Language)
	set(&s.Theme, p.Theme)
	set(&s.AutoUpdateEnabled, p.AutoUpdateEnabled)
	set(&s.DefaultLaunchMode, p.DefaultLaunchMode)
	set(&s.TaskDoneNotificationEnabled, p.TaskDoneNotificationEnabled)
	set(&s.NotificationSoundEnabled, p.NotificationSoundEnabled)
	set(&s.MenuBarIconEnabled, p.MenuBarIconEnabled)
	return s
}

// Onboarding is how far the person has come with the first steps.
type Onboarding struct {
	Completed            bool           `json:"completed"`
	CurrentStep          string         `json:"currentStep" enum:"byok_setup_required,account_auth_required,scan_permission_required,initial_report_required,improvement_program_required,product_tour_required,completed"`
	HasAcceptedTerms     bool           `json:"hasAcceptedTerms"`
	AcceptedTermsVersion *string        `json:"acceptedTermsVersion"`
	ScanPermission       ScanPermission `json:"scanPermission" enum:"unset,none,scan_only,scan_and_write_skill"`
	ImprovementProgram   string         `json:"improvementProgram" enum:"unset,accepted,declined,not_applicable"`
	CompletedAt          *time.Time     `json:"completedAt"`
}

// DefaultOnboarding returns the state of a new home: nothing is permitted.
func DefaultOnboarding() Onboarding {
	return Onboarding{CurrentStep: "scan_permission_required", ScanPermission: PermissionUnset, ImprovementProgram: "unset"}
}

// OnboardingPatch changes the onboarding. A nil field stays as it is. Consent
// is given by scanPermission alone, never by another field.
type OnboardingPatch struct {
	Completed            *bool           `json:"completed,omitempty"`
	CurrentStep          *string         `json:"currentStep,omitempty" enum:"byok_setup_required,account_auth_required,scan_permission_required,initial_report_required,improvement_program_required,product_tour_required,completed"`
	HasAcceptedTerms     *bool           `json:"hasAcceptedTerms,omitempty"`
	AcceptedTermsVersion *string         `json:"acceptedTermsVersion,omitempty" maxLength:"64"`
	ScanPermission       *ScanPermission `json:"scanPermission,omitempty" enum:"unset,none,scan_only,scan_and_write_skill"`
	ImprovementProgram   *string         `json:"improvementProgram,omitempty" enum:"unset,accepted,declined,not_applicable"`
	CompletedAt          *time.Time      `json:"completedAt,omitempty"`
}

// Apply returns o with the given fields of p.
func (p OnboardingPatch) Apply(o Onboarding) Onboarding {
	set(&o.Completed, p.Completed)
	set(&o.CurrentStep, p.CurrentStep)
	set(&o.HasAcceptedTerms, p.HasAcceptedTerms)
	set(&o.ScanPermission, p.ScanPermission)
	set(&o.ImprovementProgram, p.ImprovementProgram)
	if p.AcceptedTermsVersion != nil {
		o.AcceptedTermsVersion = p.AcceptedTermsVersion
	}
	if p.CompletedAt != nil {
		o.CompletedAt = p.CompletedAt
	}
	return o
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// Privacy is what may leave the machine. Without localOnlyMode that is only what
// the person has set up, such as a memory runtime elsewhere.
type Privacy struct {
	TelemetryOptIn               bool `json:"telemetryOptIn"`
	CrashReportOptIn             bool `json:"crashReportOptIn"`
	AllowMemoryImprovementUpload bool `json:"allowMemoryImprovementUpload"`
	LocalOnlyMode                bool `json:"localOnlyMode" doc:"No other machine is called, whatever else is set"`
}

// PrivacyPatch changes what may leave the machine. A nil field stays as it is.
type PrivacyPatch struct {
	TelemetryOptIn               *bool `json:"telemetryOptIn,omitempty"`
	CrashReportOptIn             *bool `json:"crashReportOptIn,omitempty"`
	AllowMemoryImprovementUpload *bool `json:"allowMemoryImprovementUpload,omitempty"`
	LocalOnlyMode                *bool `json:"localOnlyMode,omitempty" doc:"No other machine is called, whatever else is set"`
}

// Apply returns v with the given fields of p.
func (p PrivacyPatch) Apply(v Privacy) Privacy {
	set(&v.TelemetryOptIn, p.TelemetryOptIn)
	set(&v.CrashReportOptIn, p.CrashReportOptIn)
	set(&v.AllowMemoryImprovementUpload, p.AllowMemoryImprovementUpload)
	set(&v.LocalOnlyMode, p.LocalOnlyMode)
	return v
}

// ScanPreferences is when histories are read without being asked.
type ScanPreferences struct {
	AutoScanKnownAgents bool `json:"autoScanKnownAgents" doc:"Read what is new at the start and now and then"`
	WatchFileChanges    bool `json:"watchFileChanges" doc:"Read what agents write as they write it"`
	AutoInjectSkill     bool `json:"autoInjectSkill"`
}

// DefaultScanPreferences returns the preferences of a new home. They permit
// nothing by themselves; see [ScanPermission].
func DefaultScanPreferences() ScanPreferences {
	return ScanPreferences{AutoScanKnownAgents: true, WatchFileChanges: true}
}

// ScanPreferencesPatch changes when histories are read. A nil field stays as it
// is. It grants nothing.
type ScanPreferencesPatch struct {
	AutoScanKnownAgents *bool `json:"autoScanKnownAgents,omitempty" doc:"Read what is new at the start and now and then"`
	WatchFileChanges    *bool `json:"watchFileChanges,omitempty" doc:"Read what agents write as they write it"`
	AutoInjectSkill     *bool `json:"autoInjectSkill,omitempty"`
}

// Apply returns s with the given fields of p.
func (p ScanPreferencesPatch) Apply(s ScanPreferences) ScanPreferences {
	set(&s.AutoScanKnownAgents, p.AutoScanKnownAgents)
	set(&s.WatchFileChanges, p.WatchFileChanges)
	set(&s.AutoInjectSkill, p.AutoInjectSkill)
	return s
}

// TokenUsage is what models have cost. Without a model it is zero.
type TokenUsage struct {
	PlanName        string     `json:"planName"`
	TotalTokens     int64      `json:"totalTokens"`
	UsedTokens      int64      `json:"usedTokens"`
	RemainingTokens int64      `json:"remainingTokens"`
	ExpiresAt       *time.Time `json:"expiresAt"`
	LastSyncedAt    *time.Time `json:"lastSyncedAt"`
}

// HealthState is how a part is.
type HealthState string

// The states of a part.
const (
	HealthOK          HealthState = "ok"
	HealthStarting    HealthState = "starting"
	HealthUnavailable HealthState = "unavailable" // down, and being brought up again
	HealthFailed      HealthState = "failed"      // keeps failing; a person has to look
	HealthOff         HealthState = "off"         // not configured
)

// Health is how the parts are.
type Health struct {
	LocalAPI     HealthState `json:"localApi" enum:"ok"`
	Memory       HealthState `json:"memory" enum:"ok,starting,unavailable,failed"`
	MemoryReason string      `json:"memoryReason,omitempty" doc:"Why the memory is not ok, and what to do"`
	MemoryStarts int         `json:"memoryRestarts,omitempty" doc:"Restarts in the last five minutes"`
	Cloud        HealthState `json:"cloud" enum:"ok,unavailable,off"`

	SettingsError string `json:"settingsError,omitempty" doc:"Why config.yaml is not in force as it stands; what was in force before still is"`
}

// Bootstrap is what a front end needs at its start.
type Bootstrap struct {
	App             AppSettings     `json:"app"`
	Onboarding      Onboarding      `json:"onboarding"`
	Privacy         Privacy         `json:"privacy"`
	ScanPreferences ScanPreferences `json:"scanPreferences"`
	Account         AccountSession  `json:"account"`
	TokenUsage      TokenUsage      `json:"tokenUsage"`
	Health          Health          `json:"health"`
	Version         string          `json:"version"`
}

// RuntimeFile is runtime.json: how programs of the same person find the
// service. Trust it only if /api/health answers and the token works.
type RuntimeFile struct {
	Schema     int            `json:"schema"`
	PID        int            `json:"pid"`
	StartedAt  time.Time      `json:"startedAt"`
	Version    string         `json:"version"`
	BaseURL    string         `json:"baseUrl"`
	LocalToken string         `json:"localToken"`
	MCPToken   string         `json:"mcpToken"`
	PanelURL   *string        `json:"panelUrl"`
	Memory     RuntimeAddress `json:"memory"`
}

// RuntimeFileName is the name of the runtime file in the directory of our files.
const RuntimeFileName = "runtime.json"

// ParseRuntimeFile reads the content of runtime.json. What it says is a claim
// only: a service that died leaves it behind.
func ParseRuntimeFile(data []byte) (RuntimeFile, error) {
	var rt RuntimeFile
	if err := json.Unmarshal(data, &rt); err != nil || rt.Schema != RuntimeFileSchema || rt.BaseURL == "" {
		return RuntimeFile{}, InvalidArgument.Errorf("this is no runtime.json")
	}
	return rt, nil
}

// RuntimeAddress is where the memory runtime listens.
type RuntimeAddress struct {
	BaseURL string `json:"baseUrl"`
}

// Names of the headers that carry a token, and the version of [RuntimeFile].
const (
	LocalTokenHeader  = "x-app-local-token"
	MCPTokenHeader    = "x-app-mcp-token"
	RuntimeFileSchema = 1
)
