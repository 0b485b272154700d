// Sets the remembered colour scheme before anything is drawn.
try {
	const scheme = localStorage.getItem("madang.scheme");
	if (scheme === "light" || scheme === "dark") document.documentElement.dataset.scheme = scheme;
} catch {
	// Where storage is forbidden, the system's scheme stays.
}
