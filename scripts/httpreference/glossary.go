package main

import (
	"fmt"
	"strings"
)

// language contains the texts of error pages in one language. They are written for
// visitors and do not translate the names of the standard.
type language struct {
	tag     string // RFC 5646
	name    string // in English
	own     string // in the language itself
	phrases map[int]phrase
}

type phrase struct {
	title, text string
}

// glossaryCodes are the codes that visitors encounter.
var glossaryCodes = [...]int{400, 401, 403, 404, 410, 429, 500, 503}

func (l language) uri() string { return "http://glossary/" + l.tag }

func (l language) markdown(byCode map[int]status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Error pages in %s (%s)\n\n", l.name, l.own)
	fmt.Fprintf(&b,
		"For visitors, not for protocol use: the status code stays the same in every language, and the page says `Content-Language: %s`.\n\n",
		l.tag)
	b.WriteString("| code | title | text |\n| --- | --- | --- |\n")
	for _, code := range glossaryCodes {
		p := l.phrases[code]
		fmt.Fprintf(&b, "| %s | %s | %s |\n", byCode[code].name(), p.title, p.text)
	}
	return b.String()
}

// localizeStatus returns the answer of localize_status.
func localizeStatus(s status, l language) string {
	p := l.phrases[s.code]
	return fmt.Sprintf("# %s in %s (%s)\n\n- Title: %s\n- Text: %s\n\n```http\nHTTP/1.1 %s\nContent-Type: text/html; charset=utf-8\nContent-Language: %s\n```\n",
		s.name(), l.name, l.own, p.title, p.text, s.name(), l.tag)
}

func languages() []language {
	return []language{
		{"ar", "Arabic", "العربية", map[int]phrase{
			400: {"طلب غير صالح", "لم يتمكن الخادم من فهم الطلب."},
			401: {"يلزم تسجيل الدخول", "يرجى تسجيل الدخول للوصول إلى هذه الصفحة."},
			403: {"الوصول مرفوض", "ليس لديك إذن لعرض هذه الصفحة."},
			404: {"الصفحة غير موجودة", "الصفحة التي تبحث عنها غير موجودة."},
			410: {"لم تعد الصفحة موجودة", "تمت إزالة هذه الصفحة نهائيًا."},
			429: {"طلبات كثيرة جدًا", "يرجى الانتظار قليلًا ثم المحاولة مرة أخرى."},
			500: {"خطأ في الخادم", "حدث خطأ غير متوقع. يرجى المحاولة لاحقًا."},
			503: {"الخدمة غير متاحة", "الخدمة غير متاحة حاليًا. يرجى المحاولة لاحقًا."},
		}},
		{"de", "German", "Deutsch", map[int]phrase{
			400: {"Ungültige Anfrage", "Der Server konnte die Anfrage nicht verstehen."},
			401: {"Anmeldung erforderlich", "Bitte melden Sie sich an, um diese Seite zu sehen."},
			403: {"Zugriff verweigert", "Sie dürfen diese Seite nicht öffnen."},
			404: {"Seite nicht gefunden", "Die gesuchte Seite gibt es hier nicht."},
			410: {"Seite gelöscht", "Diese Seite wurde dauerhaft entfernt."},
			429: {"Zu viele Anfragen", "Bitte warten Sie einen Augenblick und versuchen Sie es dann erneut."},
			500: {"Serverfehler", "Ein unerwarteter Fehler ist aufgetreten. Bitte versuchen Sie es später erneut."},
			503: {
				"Dienst nicht verfügbar",
				"Der Dienst ist vorübergehend nicht erreichbar. Bitte versuchen Sie es später erneut.",
			},
		}},
		{"el", "Greek", "Ελληνικά", map[int]phrase{
			400: {"Μη έγκυρο αίτημα", "Ο διακομιστής δεν μπόρεσε να κατανοήσει το αίτημα."},
			401: {"Απαιτείται σύνδεση", "Συνδεθείτε για να δείτε αυτή τη σελίδα."},
			403: {"Δεν επιτρέπεται η πρόσβαση", "Δεν έχετε άδεια να δείτε αυτή τη σελίδα."},
			404: {"Η σελίδα δεν βρέθηκε", "Η σελίδα που ζητήσατε δεν υπάρχει."},
			410: {"Η σελίδα δεν υπάρχει πια", "Αυτή η σελίδα έχει αφαιρεθεί οριστικά."},
			429: {"Πάρα πολλά αιτήματα", "Περιμένετε λίγο και δοκιμάστε ξανά."},
			500: {"Σφάλμα διακομιστή", "Παρουσιάστηκε απρόσμενο σφάλμα. Δοκιμάστε ξανά αργότερα."},
			503: {"Η υπηρεσία δεν είναι διαθέσιμη", "Η υπηρεσία δεν είναι διαθέσιμη προσωρινά. Δοκιμάστε ξανά αργότερα."},
		}},
		{"es", "Spanish", "español", map[int]phrase{
			400: {"Solicitud no válida", "El servidor no pudo entender la solicitud."},
			401: {"Debes iniciar sesión", "Inicia sesión para ver esta página."},
			403: {"Acceso denegado", "No tienes permiso para ver esta página."},
			404: {"Página no encontrada", "La página que buscas no existe."},
			410: {"La página ya no existe", "Esta página se eliminó de forma permanente."},
			429: {"Demasiadas solicitudes", "Espera un momento y vuelve a intentarlo."},
			500: {"Error del servidor", "Se produjo un error inesperado. Vuelve a intentarlo más tarde."},
			503: {"Servicio no disponible", "El servicio no está disponible en este momento. Vuelve a intentarlo más tarde."},
		}},
		{"fr", "French", "français", map[int]phrase{
			400: {"Requête incorrecte", "Le serveur n’a pas pu comprendre la requête."},
			401: {"Connexion requise", "Veuillez vous connecter pour voir cette page."},
			403: {"Accès refusé", "Vous n’avez pas l’autorisation de voir cette page."},
			404: {"Page introuvable", "La page que vous cherchez n’existe pas."},
			410: {"Page supprimée", "Cette page a été supprimée définitivement."},
			429: {"Trop de requêtes", "Veuillez patienter un instant, puis réessayer."},
			500: {"Erreur du serveur", "Une erreur inattendue s’est produite. Veuillez réessayer plus tard."},
			503: {"Service indisponible", "Le service est momentanément indisponible. Veuillez réessayer plus tard."},
		}},
		{"hi", "Hindi", "हिन्दी", map[int]phrase{
			400: {"अमान्य अनुरोध", "सर्वर अनुरोध को समझ नहीं सका।"},
			401: {"लॉग इन आवश्यक है", "यह पृष्ठ देखने के लिए कृपया लॉग इन करें।"},
			403: {"पहुँच अस्वीकृत", "आपको यह पृष्ठ देखने की अनुमति नहीं है।"},
			404: {"पृष्ठ नहीं मिला", "आप जो पृष्ठ खोज रहे हैं वह मौजूद नहीं है।"},
			410: {"पृष्ठ हटा दिया गया है", "यह पृष्ठ स्थायी रूप से हटा दिया गया है।"},
			429: {"बहुत अधिक अनुरोध", "कृपया थोड़ी देर रुककर फिर से प्रयास करें।"},
			500: {"सर्वर त्रुटि", "एक अनपेक्षित त्रुटि हुई। कृपया बाद में फिर से प्रयास करें।"},
			503: {"सेवा उपलब्ध नहीं है", "सेवा अभी उपलब्ध नहीं है। कृपया बाद में फिर से प्रयास करें।"},
		}},
		{"it", "Italian", "italiano", map[int]phrase{
			400: {"Richiesta non valida", "Il server non ha potuto interpretare la richiesta."},
			401: {"Accesso richiesto", "Effettua l’accesso per vedere questa pagina."},
			403: {"Accesso negato", "Non hai il permesso di vedere questa pagina."},
			404: {"Pagina non trovata", "La pagina che cerchi non esiste."},
			410: {"Pagina rimossa", "Questa pagina è stata rimossa definitivamente."},
			429: {"Troppe richieste", "Attendi un momento e riprova."},
			500: {"Errore del server", "Si è verificato un errore imprevisto. Riprova più tardi."},
			503: {"Servizio non disponibile", "Il servizio è temporaneamente non disponibile. Riprova più tardi."},
		}},
		{"ja", "Japanese", "日本語", map[int]phrase{
			400: {"不正なリクエスト", "サーバーはリクエストを理解できませんでした。"},
			401: {"ログインが必要です", "このページを表示するにはログインしてください。"},
			403: {"アクセスが拒否されました", "このページを表示する権限がありません。"},
			404: {"ページが見つかりません", "お探しのページは存在しません。"},
			410: {"ページは削除されました", "このページは完全に削除されました。"},
			429: {"リクエストが多すぎます", "しばらく待ってからもう一度お試しください。"},
			500: {"サーバーエラー", "予期しないエラーが発生しました。後でもう一度お試しください。"},
			503: {"サービスを利用できません", "現在サービスを利用できません。後でもう一度お試しください。"},
		}},
		{"ko", "Korean", "한국어", map[int]phrase{
			400: {"잘못된 요청", "서버가 요청을 이해하지 못했습니다."},
			401: {"로그인이 필요합니다", "이 페이지를 보려면 로그인하세요."},
			403: {"접근이 거부되었습니다", "이 페이지를 볼 권한이 없습니다."},
			404: {"페이지를 찾을 수 없습니다", "찾으시는 페이지가 없습니다."},
			410: {"삭제된 페이지", "이 페이지는 영구적으로 삭제되었습니다."},
			429: {"요청이 너무 많습니다", "잠시 후 다시 시도하세요."},
			500: {"서버 오류", "예기치 않은 오류가 발생했습니다. 나중에 다시 시도하세요."},
			503: {"서비스를 이용할 수 없습니다", "현재 서비스를 이용할 수 없습니다. 나중에 다시 시도하세요."},
		}},
		{"pl", "Polish", "polski", map[int]phrase{
			400: {"Nieprawidłowe żądanie", "Serwer nie zrozumiał żądania."},
			401: {"Wymagane logowanie", "Zaloguj się, aby zobaczyć tę stronę."},
			403: {"Brak dostępu", "Nie masz uprawnień, aby zobaczyć tę stronę."},
			404: {"Nie znaleziono strony", "Strona, której szukasz, nie istnieje."},
			410: {"Strona usunięta", "Ta strona została trwale usunięta."},
			429: {"Zbyt wiele żądań", "Odczekaj chwilę i spróbuj ponownie."},
			500: {"Błąd serwera", "Wystąpił nieoczekiwany błąd. Spróbuj ponownie później."},
			503: {"Usługa niedostępna", "Usługa jest chwilowo niedostępna. Spróbuj ponownie później."},
		}},
		{"ru", "Russian", "русский", map[int]phrase{
			400: {"Неверный запрос", "Сервер не смог понять запрос."},
			401: {"Требуется вход", "Войдите, чтобы открыть эту страницу."},
			403: {"Доступ запрещён", "У вас нет прав на просмотр этой страницы."},
			404: {"Страница не найдена", "Запрошенной страницы не существует."},
			410: {"Страница удалена", "Эта страница удалена навсегда."},
			429: {"Слишком много запросов", "Подождите немного и попробуйте снова."},
			500: {"Ошибка сервера", "Произошла непредвиденная ошибка. Попробуйте позже."},
			503: {"Сервис недоступен", "Сервис временно недоступен. Попробуйте позже."},
		}},
		{"vi", "Vietnamese", "Tiếng Việt", map[int]phrase{
			400: {"Yêu cầu không hợp lệ", "Máy chủ không hiểu yêu cầu này."},
			401: {"Cần đăng nhập", "Vui lòng đăng nhập để xem trang này."},
			403: {"Truy cập bị từ chối", "Bạn không có quyền xem trang này."},
			404: {"Không tìm thấy trang", "Trang bạn đang tìm không tồn tại."},
			410: {"Trang đã bị xóa", "Trang này đã bị xóa vĩnh viễn."},
			429: {"Quá nhiều yêu cầu", "Vui lòng chờ một lát rồi thử lại."},
			500: {"Lỗi máy chủ", "Đã xảy ra lỗi không mong muốn. Vui lòng thử lại sau."},
			503: {"Dịch vụ không khả dụng", "Dịch vụ tạm thời không khả dụng. Vui lòng thử lại sau."},
		}},
		{"zh-Hans", "Simplified Chinese", "简体中文", map[int]phrase{
			400: {"请求无效", "服务器无法理解该请求。"},
			401: {"需要登录", "请登录后查看此页面。"},
			403: {"拒绝访问", "您没有查看此页面的权限。"},
			404: {"找不到页面", "您要查找的页面不存在。"},
			410: {"页面已删除", "此页面已被永久删除。"},
			429: {"请求过多", "请稍候片刻再试。"},
			500: {"服务器错误", "发生意外错误，请稍后再试。"},
			503: {"服务不可用", "服务暂时不可用，请稍后再试。"},
		}},
	}
}
