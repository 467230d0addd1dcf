"""Words for what nothing else in a table causes: age, sex, birth, descent, place and calendar, in several languages."""

#: For each kind its words, in lower case and without accents.
ROOT_NAMES: dict[str, tuple[str, ...]] = {
    "an age": (
        *("age", "alder", "alter", "edad", "idade", "ika", "leeftijd", "varsta", "vek", "wiek", "yas"),
        *("возраст", "年龄", "年齢", "나이"),
    ),
    "a sex": (
        *("gender", "genere", "genero", "geschlecht", "geslacht", "kjonn", "kon", "male", "female", "nem", "plec"),
        *("pohlavi", "sesso", "sex", "sexe", "sexo", "cinsiyet", "sukupuoli", "пол", "性别", "性別", "성별"),
    ),
    "a descent": (
        *("ethnic", "ethnicity", "ethnie", "etnia", "etnicidad", "etniciteit", "herkunft", "nationality", "race"),
        *("raca", "raza", "razza", "nationalitat", "nationalite", "национальность", "民族", "人種"),
    ),
    "a birth": (
        *("birth", "birthdate", "birthday", "birthyear", "born", "dob", "geboorte", "geboortejaar", "geburt"),
        *("geburtsjahr", "naissance", "nacimiento", "nascimento", "nascita", "yob", "рождение", "出生", "生年"),
    ),
    "a place": (
        *("center", "centre", "centro", "clinic", "country", "hospital", "klinik", "pais", "paese", "pays"),
        *("easting", "lat", "latitude", "lng", "lon", "longitude", "northing", "site", "standort", "zentrum"),
        *("страна", "国家"),
    ),
    "a time": (
        *("annee", "anno", "calendar", "date", "datum", "fecha", "jaar", "jahr", "mes", "mois", "monat", "month"),
        *("quarter", "rok", "saison", "season", "weekday", "year", "год", "年", "月"),
    ),
}
#: Words that may stand beside them: "patient_age", "year of birth", "sex (code)".
BESIDE = frozenset(
    (
        *("a", "at", "baseline", "cat", "category", "class", "code", "enrolment", "entry", "father", "group", "in"),
        *("mother", "of", "patient", "person", "respondent", "subject", "the", "y", "year", "years", "yr", "yrs"),
    )
)
