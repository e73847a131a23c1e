; The installer of Chatwright Tray for one user: no administrator is asked, nothing is switched on that was not asked for.
; "go run ./build/package windows" runs makensis with VERSION, STAGE (the folder of the files) and OUT (the installer).
Target amd64-unicode ; as the programs are: wherever they run, so does it
!include MUI2.nsh
!include FileFunc.nsh

!define NAME "Chatwright Tray"
!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\ChatwrightTray"

Name "${NAME}"
OutFile "${OUT}"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\Chatwright Tray"
InstallDirRegKey HKCU "${UNINSTALL}" "InstallLocation"
SetCompressor /SOLID lzma
SetCompressorDictSize 64 ; MB: the two programs are nearly the same, and now the second costs next to nothing
SetDateSave off ; the same files give the same installer
ShowInstDetails nevershow
ShowUninstDetails nevershow

VIProductVersion "${VERSION}.0"
VIAddVersionKey "ProductName" "${NAME}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "FileDescription" "${NAME} installer"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "CompanyName" "Chatwright"
VIAddVersionKey "LegalCopyright" "The Chatwright authors, Apache-2.0"

!define MUI_ICON "${STAGE}\..\icon.ico"
!define MUI_UNICON "${STAGE}\..\icon.ico"
!define MUI_ABORTWARNING
!define MUI_FINISHPAGE_RUN "$INSTDIR\chatwright-tray.exe"
!define MUI_FINISHPAGE_RUN_TEXT "Start Chatwright Tray"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

; Whether a companion ran before: an upgrade gives it back.
Var Ran

; A running program cannot be replaced. It is asked to end, which lets calls in flight finish and keeps what was recorded.
; Its file stays locked until the process is really gone.
!macro EndRunning
  StrCpy $Ran "no"
  ${If} ${FileExists} "$INSTDIR\chatwright-tray.com"
    nsExec::Exec '"$INSTDIR\chatwright-tray.com" status'
    Pop $0
    ${If} $0 == "0"
      StrCpy $Ran "yes"
      nsExec::Exec '"$INSTDIR\chatwright-tray.com" stop'
      Pop $0
    ${EndIf}
    StrCpy $1 0
    ${Do}
      ClearErrors
      FileOpen $0 "$INSTDIR\chatwright-tray.exe" a
      ${IfNot} ${Errors}
      ${OrIfNot} ${FileExists} "$INSTDIR\chatwright-tray.exe"
        FileClose $0
        ${ExitDo}
      ${EndIf}
      ${If} $1 == 150
        MessageBox MB_OK|MB_ICONSTOP "Chatwright Tray is still running. Quit it in its menu, then try again." /SD IDOK
        SetErrorLevel 2
        Quit
      ${EndIf}
      Sleep 100
      IntOp $1 $1 + 1
    ${Loop}
  ${EndIf}
!macroend

Section "Install"
  !insertmacro EndRunning
  SetOutPath "$INSTDIR"
  File "${STAGE}\*.*"
  CreateDirectory "$SMPROGRAMS\${NAME}"
  CreateShortcut "$SMPROGRAMS\${NAME}\${NAME}.lnk" "$INSTDIR\chatwright-tray.exe"
  ; The PATH of the user is left alone: this one opens a terminal in which the commands work.
  CreateShortcut "$SMPROGRAMS\${NAME}\${NAME} commands.lnk" "$SYSDIR\cmd.exe" \
    '/k "set PATH=$INSTDIR;%PATH%&& chatwright-tray --help"' "$INSTDIR\chatwright-tray.exe" 0
  WriteUninstaller "$INSTDIR\uninstall.exe"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "${NAME}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\chatwright-tray.exe"
  WriteRegStr HKCU "${UNINSTALL}" "Publisher" "Chatwright"
  WriteRegStr HKCU "${UNINSTALL}" "URLInfoAbout" "https://chatwright.dev/"
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
  ${GetSize} "$INSTDIR" "/S=0K" $0 $1 $2
  IntFmt $0 "0x%08X" $0
  WriteRegDWORD HKCU "${UNINSTALL}" "EstimatedSize" "$0"
  ${If} $Ran == "yes"
    Exec '"$INSTDIR\chatwright-tray.exe"'
  ${EndIf}
SectionEnd

; Settings and records stay, as they do when an upgrade goes wrong and the program is installed anew.
Section "Uninstall"
  !insertmacro EndRunning
  ; Start at login, and what Windows keeps beside it about being switched off there: nothing may be started that is gone.
  DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Run" "${NAME}"
  DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run" "${NAME}"
  Delete "$INSTDIR\chatwright-tray.exe"
  Delete "$INSTDIR\chatwright-tray.com"
  Delete "$INSTDIR\README.txt"
  Delete "$INSTDIR\LICENSE.txt"
  Delete "$INSTDIR\commands.md"
  Delete "$INSTDIR\third-party-licences.txt"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR" ; only when nothing of the user's is in it
  Delete "$SMPROGRAMS\${NAME}\${NAME}.lnk"
  Delete "$SMPROGRAMS\${NAME}\${NAME} commands.lnk"
  RMDir "$SMPROGRAMS\${NAME}"
  DeleteRegKey HKCU "${UNINSTALL}"
SectionEnd
